//! Jobs this worker could not go on with, because a provider they need is another worker's.

use leasehold_queue::{
    transition::Snooze,
    units::{UnitError, assign::ELSEWHERE},
};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Soon, but not so soon that the same worker is back first.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// So many jobs are remembered; beyond that the oldest are forgotten, and wait a second again.
const MOST_REMEMBERED: usize = 1_000;

struct Returned {
    times: u32,
    last: Instant,
}

/// How often each job was handed back by this process. A job nobody takes over comes back here again and again: each
/// time it waits twice as long, so that it costs next to nothing while nobody can run it.
#[derive(Default)]
pub struct HandedBack(Mutex<HashMap<i64, Returned>>);

impl HandedBack {
    pub fn snooze(&self, job: i64, error: &UnitError) -> Snooze {
        let message = format!("{} The job waits for a worker that knows it.", error.message);
        Snooze { error_code: ELSEWHERE.to_owned(), message, wait: self.next_wait(job, Instant::now()) }
    }

    fn next_wait(&self, job: i64, now: Instant) -> Duration {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another worker had it for long since, or has finished it.
        jobs.retain(|_, known| now.duration_since(known.last) < LONGEST_WAIT * 3);
        if jobs.len() >= MOST_REMEMBERED && !jobs.contains_key(&job) {
            let oldest = jobs.iter().min_by_key(|(_, known)| known.last).map(|(job, _)| *job);
            oldest.map(|job| jobs.remove(&job));
        }
        let known = jobs.entry(job).or_insert(Returned { times: 0, last: now });
        let wait = FIRST_WAIT.saturating_mul(1 << known.times.min(16)).min(LONGEST_WAIT);
        *known = Returned { times: known.times + 1, last: now };
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_comes_back_waits_longer_each_time() {
        let (back, start) = (HandedBack::default(), Instant::now());
        let mut now = start;
        let waits: Vec<u64> = (0..8)
            .map(|_| {
                let wait = back.next_wait(7, now);
                now += wait;
                wait.as_secs()
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(back.next_wait(8, now), FIRST_WAIT, "each job for itself");
        assert_eq!(back.next_wait(7, now + LONGEST_WAIT * 4), FIRST_WAIT, "it was long gone");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (back, now) = (HandedBack::default(), Instant::now());
        for job in 0..MOST_REMEMBERED as i64 + 10 {
            back.next_wait(job, now + Duration::from_micros(job as u64));
        }
        assert_eq!(back.0.lock().unwrap().len(), MOST_REMEMBERED);
    }
}
