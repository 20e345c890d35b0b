//! How much of everything one run does.

#[derive(Clone, Debug)]
pub struct Sizes {
    pub one_by_one: usize,
    pub bulk: usize,
    pub drain: usize,
    /// Limit and drain are measured this often, alternating; the best of each counts.
    pub rounds: usize,
    pub pickups: usize,
    pub backlog: usize,
    pub pages_small: i64,
    pub pages_large: i64,
    pub page_reads: usize,
}

impl Sizes {
    pub fn full() -> Self {
        Self {
            one_by_one: 3_000,
            bulk: 100_000,
            drain: 60_000,
            rounds: 3,
            pickups: 500,
            backlog: 100_000,
            pages_small: 10_000,
            pages_large: 1_000_000,
            page_reads: 60,
        }
    }

    /// Fits into two minutes.
    pub fn quick() -> Self {
        Self {
            one_by_one: 600,
            bulk: 20_000,
            drain: 20_000,
            rounds: 2,
            pickups: 150,
            backlog: 100_000,
            page_reads: 30,
            ..Self::full()
        }
    }
}
