//! How many attempts a job has used, in words. Attempts are numbered from its beginning; how many are left is counted
//! from its last requeue, without those a worker released.

use leasehold_types::view::JobRow;

/// `2 of 3`, or both counts when they differ.
pub fn attempts(row: &JobRow, requeued: bool) -> String {
    let (count, used, max) = (row.attempt_count, row.attempts_used, row.max_attempts);
    if count == used {
        return format!("{used} of {max}");
    }
    let why = if requeued { "since it was requeued" } else { "(released attempts do not count)" };
    format!("{count} in all; {used} of {max} used {why}")
}

/// Of the attempt that runs: `attempt 2 of 3`, or its number alone when it does not tell how many are left.
pub fn running(row: &JobRow) -> String {
    if row.attempt_count == row.attempts_used {
        format!("attempt {} of {}", row.attempt_count, row.max_attempts)
    } else {
        format!("attempt {}", row.attempt_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::timeline::tests::job;
    use leasehold_types::JobStatus;

    fn row(count: i32, used: i32) -> JobRow {
        JobRow { attempt_count: count, attempts_used: used, ..job(JobStatus::Processing).row }
    }

    #[test]
    fn no_job_uses_more_attempts_than_it_has() {
        assert_eq!(attempts(&row(2, 2), false), "2 of 3");
        assert_eq!(attempts(&row(6, 3), true), "6 in all; 3 of 3 used since it was requeued");
        assert_eq!(attempts(&row(5, 0), false), "5 in all; 0 of 3 used (released attempts do not count)");
        assert_eq!((running(&row(2, 2)), running(&row(6, 3))), ("attempt 2 of 3".into(), "attempt 6".into()));
    }
}
