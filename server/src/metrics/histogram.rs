//! Observations in buckets.

use std::sync::Arc;

/// One observation with the trace it came from.
#[derive(Clone, PartialEq, Debug)]
pub struct Exemplar {
    pub trace_id: Arc<str>,
    pub value: f64,
    pub at_seconds: f64,
}

/// Empty until something is observed, so that a group costs only what it has.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Histogram {
    /// One more than there are bounds; the last is for what lies beyond them.
    counts: Vec<u64>,
    exemplars: Vec<Option<Exemplar>>,
    sum: f64,
}

impl Histogram {
    /// Clocks may disagree a little; nothing takes less than no time.
    pub fn observe(&mut self, bounds: &[f64], value: f64) {
        let value = value.max(0.0);
        let bucket = self.bucket(bounds, value);
        self.counts[bucket] += 1;
        self.sum += value;
    }

    pub fn observe_with(&mut self, bounds: &[f64], exemplar: Exemplar) {
        let bucket = self.bucket(bounds, exemplar.value);
        self.observe(bounds, exemplar.value);
        self.exemplars.resize(bounds.len() + 1, None);
        self.exemplars[bucket] = Some(exemplar);
    }

    fn bucket(&mut self, bounds: &[f64], value: f64) -> usize {
        self.counts.resize(bounds.len() + 1, 0);
        bounds.partition_point(|bound| *bound < value)
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn add(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            *own += more;
        }
        self.exemplars.resize(self.exemplars.len().max(other.exemplars.len()), None);
        for (own, more) in self.exemplars.iter_mut().zip(&other.exemplars) {
            if more.is_some() {
                own.clone_from(more);
            }
        }
        self.sum += other.sum;
    }

    pub fn sum(&self) -> f64 {
        self.sum
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many observations were at most as large as each bound, the last one being infinite.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, Option<&Exemplar>)> {
        let exemplars = self.exemplars.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let running = self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        running.zip(exemplars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_sums_add_up() {
        let bounds = [1.0, 2.0];
        let mut histogram = Histogram::default();
        for value in [0.5, 1.0, 1.5, 9.0, -3.0] {
            histogram.observe(&bounds, value);
        }
        let counts = |h: &Histogram| h.cumulative().map(|(n, _)| n).collect::<Vec<_>>();
        assert_eq!((counts(&histogram), histogram.count(), histogram.sum()), (vec![3, 4, 5], 5, 12.0));
        let mut both = Histogram::default();
        both.add(&histogram);
        both.add(&histogram);
        assert_eq!(counts(&both), [6, 8, 10]);
    }
}
