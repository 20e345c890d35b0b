//! How much of this installation the workers of one key may take up.

use super::sources::{Sources, wrong};
use leasehold_queue::remote::RemoteLimits;
use leasehold_types::Problem;

pub fn limits(sources: &Sources) -> Result<RemoteLimits, Problem> {
    let usual = RemoteLimits::default();
    Ok(RemoteLimits {
        workers_per_key: at_least_one(sources, "JOBS_WORKER_MAX_PER_KEY", usual.workers_per_key)?,
        waiting_per_key: at_least_one(sources, "JOBS_WORKER_MAX_WAITING_PER_KEY", usual.waiting_per_key)?,
        waiting: at_least_one(sources, "JOBS_WORKER_MAX_WAITING", usual.waiting)?,
    })
}

fn at_least_one(sources: &Sources, name: &str, usual: u32) -> Result<u32, Problem> {
    match sources.parsed(name, usual)? {
        0 => Err(wrong(name, "0", "it must be at least 1")),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_shut_out_by_a_zero() {
        for name in ["JOBS_WORKER_MAX_PER_KEY", "JOBS_WORKER_MAX_WAITING_PER_KEY", "JOBS_WORKER_MAX_WAITING"]
        {
            let read = |value: &str| {
                let env = [(name.to_owned(), value.to_owned())].into();
                limits(&Sources { flags: Default::default(), env, file: Default::default() })
            };
            assert_eq!(read("0").unwrap_err().errors[0].field, name);
            assert_ne!(read("7").unwrap(), RemoteLimits::default());
        }
    }
}
