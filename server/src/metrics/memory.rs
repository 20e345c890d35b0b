//! When jobs were created and started, remembered from their own events until they end, so that nobody needs to be
//! asked. Bounded: what was forgotten, or happened before this process started, is looked up in the store.

use super::labels::Label;
use leasehold_queue::figures::JobTimes;
use leasehold_types::Timestamp;
use std::collections::{HashMap, VecDeque};

const REMEMBERED: usize = 50_000;
/// Room for so many is kept when all jobs have ended.
const KEPT_ROOM: usize = 1_000;

#[derive(Clone, Copy, Default, Debug)]
pub struct Open {
    pub created: Option<Timestamp>,
    pub first_start: Option<Timestamp>,
    pub last_start: Option<Timestamp>,
    pub stage: Option<(Label, Timestamp)>,
}

#[derive(Default)]
pub struct Memory {
    jobs: HashMap<i64, Open>,
    /// In the order they were first heard of; those that have ended meanwhile are skipped.
    order: VecDeque<i64>,
}

impl Memory {
    pub fn job(&mut self, number: i64) -> &mut Open {
        if !self.jobs.contains_key(&number) {
            self.make_room();
            self.order.push_back(number);
        }
        self.jobs.entry(number).or_default()
    }

    pub fn knows(&self, number: i64) -> Option<&Open> {
        self.jobs.get(&number)
    }

    pub fn learn(&mut self, times: &JobTimes) {
        let job = self.job(times.number);
        job.created.get_or_insert(times.created_at);
        job.first_start = job.first_start.or(times.started_at);
        job.last_start = job.last_start.or(times.acquired_at);
    }

    pub fn forget(&mut self, number: i64) -> Open {
        let forgotten = self.jobs.remove(&number).unwrap_or_default();
        if self.jobs.is_empty() && self.order.len() > KEPT_ROOM {
            // A burst is over: its room is given back.
            *self = Self::default();
        }
        forgotten
    }

    fn make_room(&mut self) {
        while self.jobs.len() >= REMEMBERED || self.order.len() >= 2 * REMEMBERED {
            match self.order.pop_front() {
                Some(oldest) => drop(self.jobs.remove(&oldest)),
                None => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_burst_is_given_back() {
        let mut memory = Memory::default();
        for number in 0..20_000 {
            memory.job(number).created = Some(Timestamp::from_secs(number));
        }
        for number in 0..20_000 {
            memory.forget(number);
        }
        assert!(memory.jobs.capacity() <= KEPT_ROOM && memory.order.capacity() <= KEPT_ROOM);
        memory.job(7).created = Some(Timestamp::from_secs(7));
        assert!(memory.knows(7).is_some());
    }

    #[test]
    fn memory_stays_bounded_whether_jobs_end_or_not() {
        let mut memory = Memory::default();
        for number in 0..3 * REMEMBERED as i64 {
            memory.job(number);
            if number % 2 == 0 {
                memory.forget(number);
            }
        }
        assert!(memory.jobs.len() <= REMEMBERED && memory.order.len() <= 2 * REMEMBERED);
        assert!(memory.knows(3 * REMEMBERED as i64 - 1).is_some() && memory.knows(1).is_none());
    }
}
