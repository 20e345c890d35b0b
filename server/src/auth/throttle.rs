//! Slows down guessing: so many attempts per key and window, then a pause. Kept in memory and bounded, so an
//! attacker cannot fill it up.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

const REMEMBERED: usize = 10_000;

pub struct Throttle {
    attempts: u32,
    window: Duration,
    keys: Mutex<HashMap<String, Window>>,
}

struct Window {
    began: Instant,
    used: u32,
}

impl Throttle {
    pub fn new(attempts: u32, window: Duration) -> Self {
        Self { attempts, window, keys: Mutex::default() }
    }

    /// Counts an attempt before it is made, so that many at once cannot slip through together.
    /// The error says how long to wait.
    pub fn begin(&self, key: &str) -> Result<(), Duration> {
        let now = Instant::now();
        let mut keys = self.keys();
        if keys.len() >= REMEMBERED && !keys.contains_key(key) {
            self.make_room(&mut keys, now);
        }
        let window = keys.entry(key.to_owned()).or_insert(Window { began: now, used: 0 });
        if now.duration_since(window.began) >= self.window {
            *window = Window { began: now, used: 0 };
        }
        if window.used >= self.attempts {
            return Err(self.window.saturating_sub(now.duration_since(window.began)));
        }
        window.used += 1;
        Ok(())
    }

    /// The attempt was a good one: it does not count.
    pub fn forgive(&self, key: &str) {
        if let Some(window) = self.keys().get_mut(key) {
            window.used = window.used.saturating_sub(1);
        }
    }

    /// The key has proved itself: all its earlier attempts are forgotten.
    pub fn clear(&self, key: &str) {
        self.keys().remove(key);
    }

    fn make_room(&self, keys: &mut HashMap<String, Window>, now: Instant) {
        keys.retain(|_, window| now.duration_since(window.began) < self.window);
        if keys.len() >= REMEMBERED
            && let Some(oldest) = keys.iter().min_by_key(|(_, w)| w.began).map(|(key, _)| key.clone())
        {
            keys.remove(&oldest);
        }
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<String, Window>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn after_too_many_attempts_a_key_has_to_wait() {
        let throttle = Throttle::new(2, HOUR);
        assert!(throttle.begin("ann").is_ok());
        assert!(throttle.begin("ann").is_ok());
        assert!(throttle.begin("ann").unwrap_err() > Duration::from_secs(3_000));
        assert!(throttle.begin("bob").is_ok());
        throttle.clear("ann");
        assert!(throttle.begin("ann").is_ok());
    }

    #[test]
    fn good_attempts_do_not_count() {
        let throttle = Throttle::new(1, HOUR);
        for _ in 0..5 {
            assert!(throttle.begin("10.0.0.1").is_ok());
            throttle.forgive("10.0.0.1");
        }
    }

    #[test]
    fn the_window_passes_and_memory_stays_bounded() {
        let throttle = Throttle::new(1, Duration::ZERO);
        assert!(throttle.begin("ann").is_ok());
        assert!(throttle.begin("ann").is_ok());
        let throttle = Throttle::new(1, HOUR);
        for i in 0..REMEMBERED + 50 {
            assert!(throttle.begin(&i.to_string()).is_ok());
        }
        assert!(throttle.keys().len() <= REMEMBERED);
    }
}
