//! Who gets the next free slots.
//!
//! A worker asks for a handful of jobs at a time, and a tenant with a hundred thousand of them must not stand in the
//! way of one with ten. So slots are dealt one by one, each to the tenant that runs the fewest jobs at that moment
//! and still has one due: whoever runs nothing is served first, and tenants that always have work end up running
//! equally many. Nobody is held back for a slot that others could not use.

use std::{cmp::Reverse, collections::BinaryHeap};

/// A tenant that has jobs due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claimant {
    /// Jobs it runs now.
    pub running: i64,
    /// Jobs it could run; a count that was cut off should be `i64::MAX`.
    pub due: i64,
}

/// Deals `slots`; the answer has one number per claimant. Among equals the one after `turn` comes first, so a caller
/// that counts its turns up lets the odd slot go round.
pub fn deal(slots: i64, claimants: &[Claimant], turn: usize) -> Vec<i64> {
    let count = claimants.len();
    let mut shares = vec![0; count];
    let place = |index: usize| (index + count - turn % count.max(1)) % count;
    let mut hands: BinaryHeap<_> = (0..count)
        .filter(|index| claimants[*index].due > 0)
        .map(|index| Reverse((claimants[index].running, place(index), index)))
        .collect();
    for _ in 0..slots {
        let Some(Reverse((running, place, index))) = hands.pop() else { break };
        shares[index] += 1;
        if shares[index] < claimants[index].due {
            hands.push(Reverse((running + 1, place, index)));
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimants(of: &[(i64, i64)]) -> Vec<Claimant> {
        of.iter().map(|(running, due)| Claimant { running: *running, due: *due }).collect()
    }

    #[test]
    fn equals_share_evenly_and_the_odd_slot_goes_round() {
        let three = claimants(&[(0, 9), (0, 9), (0, 9)]);
        assert_eq!(deal(7, &three, 0), [3, 2, 2]);
        assert_eq!(deal(7, &three, 1), [2, 3, 2]);
        assert_eq!(deal(1, &three, 2), [0, 0, 1]);
        assert_eq!(deal(1, &three, 3), [1, 0, 0]);
    }

    #[test]
    fn whoever_runs_less_is_served_first() {
        assert_eq!(deal(10, &claimants(&[(10, i64::MAX), (0, 10)]), 0), [0, 10]);
        assert_eq!(deal(10, &claimants(&[(4, i64::MAX), (0, 100)]), 0), [3, 7]);
    }

    #[test]
    fn what_one_cannot_use_others_get() {
        assert_eq!(deal(10, &claimants(&[(50, i64::MAX), (0, 3)]), 0), [7, 3]);
        assert_eq!(deal(10, &claimants(&[(0, 2), (0, 3)]), 0), [2, 3]);
        assert_eq!(deal(10, &claimants(&[(0, 0), (5, 1)]), 0), [0, 1]);
        assert!(deal(3, &[], 5).is_empty());
    }
}
