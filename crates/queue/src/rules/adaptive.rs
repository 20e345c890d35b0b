//! How many jobs of one kind a worker runs at a time when that kind begins to fail.
//!
//! A sliding window holds the last results. When more of them failed than the threshold allows, the cap is halved
//! and the window begins anew, so that the next halving needs new evidence. Each clean stretch gives one place back,
//! until nothing is reduced any more. The cap never reaches zero: somebody has to find out that all is well again.

use std::collections::VecDeque;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adaptive {
    /// How many results are looked at.
    pub window: usize,
    /// So many results at least before a new window is judged.
    pub fewest: usize,
    /// The share of failures above which the cap is halved.
    pub threshold: f64,
    /// Successes in a row that give one place back.
    pub clean_stretch: usize,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self { window: 20, fewest: 10, threshold: 0.5, clean_stretch: 10 }
    }
}

/// One kind of job on one worker.
#[derive(Clone, PartialEq, Debug)]
pub struct Throttle {
    rules: Adaptive,
    full: usize,
    cap: usize,
    /// True = failed; the newest last.
    results: VecDeque<bool>,
    clean: usize,
}

impl Throttle {
    /// Begins with the first failure: whatever came before it went well.
    pub fn new(rules: Adaptive, full: usize) -> Self {
        let results = std::iter::repeat_n(false, rules.window).collect();
        Self { rules, full: full.max(1), cap: full.max(1), results, clean: 0 }
    }

    /// Hears how one job ended; true when the cap has changed.
    pub fn heard(&mut self, failed: bool) -> bool {
        self.results.push_back(failed);
        if self.results.len() > self.rules.window {
            self.results.pop_front();
        }
        self.clean = if failed { 0 } else { self.clean + 1 };
        if failed && self.fails_too_often() {
            let before = self.cap;
            self.cap = (self.cap / 2).max(1);
            self.results.clear();
            return self.cap != before;
        }
        if self.cap < self.full && self.clean >= self.rules.clean_stretch {
            self.clean = 0;
            self.cap += 1;
            return true;
        }
        false
    }

    /// How many may run at a time.
    pub fn cap(&self) -> usize {
        self.cap
    }

    pub fn is_reduced(&self) -> bool {
        self.cap < self.full
    }

    /// Nothing is reduced and nothing failed lately: it need not be remembered.
    pub fn is_forgotten(&self) -> bool {
        !self.is_reduced() && self.clean >= self.rules.window
    }

    fn fails_too_often(&self) -> bool {
        let failed = self.results.iter().filter(|failed| **failed).count();
        let judged = self.results.len() >= self.rules.fewest.min(self.rules.window);
        judged && failed as f64 > self.rules.threshold * self.results.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cap after so many equal results.
    fn hear(throttle: &mut Throttle, failed: bool, times: usize) -> usize {
        for _ in 0..times {
            throttle.heard(failed);
        }
        throttle.cap()
    }

    #[test]
    fn a_failure_now_and_then_changes_nothing() {
        let mut throttle = Throttle::new(Adaptive::default(), 8);
        for i in 0..1_000 {
            assert!(!throttle.heard(i % 2 == 0), "half of them is not more than half");
        }
        assert_eq!(throttle.cap(), 8);
    }

    #[test]
    fn it_is_halved_when_most_fail_and_never_reaches_zero() {
        let mut throttle = Throttle::new(Adaptive::default(), 8);
        assert_eq!(hear(&mut throttle, true, 10), 8, "ten of twenty are not more than half");
        assert_eq!(hear(&mut throttle, true, 1), 4);
        assert_eq!(hear(&mut throttle, true, 9), 4, "a new window needs ten results");
        assert_eq!(hear(&mut throttle, true, 1), 2);
        assert_eq!(hear(&mut throttle, true, 10), 1);
        assert_eq!(hear(&mut throttle, true, 1_000), 1);
        assert!(throttle.is_reduced());
    }

    #[test]
    fn it_grows_back_by_one_after_each_clean_stretch() {
        let mut throttle = Throttle::new(Adaptive::default(), 4);
        hear(&mut throttle, true, 21);
        assert_eq!(throttle.cap(), 1);
        assert_eq!(hear(&mut throttle, false, 9), 1);
        assert_eq!(hear(&mut throttle, false, 1), 2);
        assert_eq!(hear(&mut throttle, false, 9), 2);
        assert_eq!(hear(&mut throttle, true, 1), 2, "one failure only ends the stretch");
        assert_eq!(hear(&mut throttle, false, 10), 3);
        assert_eq!(hear(&mut throttle, false, 10), 4);
        assert!(!throttle.is_reduced() && !throttle.is_forgotten());
        assert_eq!(hear(&mut throttle, false, 100), 4, "never above what the worker has");
        assert!(throttle.is_forgotten());
    }

    #[test]
    fn one_place_stays_one_place() {
        let mut throttle = Throttle::new(Adaptive::default(), 1);
        assert!((0..100).all(|_| !throttle.heard(true)));
        assert!(!throttle.is_reduced());
    }
}
