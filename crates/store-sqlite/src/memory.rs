//! Memory between bursts. The writer may keep 64 MiB of pages, which a queue under load is worth and an idle one is not:
//! once little is written any more, the pages are given back. What is needed again is read again, mostly from the
//! operating system's own cache.

use crate::{SqliteStore, error::Outcome};
use sqlx::SqliteConnection;
use std::sync::atomic::{AtomicI64, Ordering};

/// Rows changed between two looks. Fewer are heartbeats and the odd job.
const QUIET: i64 = 1_000;

/// Counted in rows this process has changed since it opened the file.
#[derive(Default)]
pub(crate) struct Load {
    looked_at: AtomicI64,
    trimmed_at: AtomicI64,
}

impl Load {
    /// Something was done since the last time, and now it is over.
    fn has_ended(&self, changed: i64) -> bool {
        let since_look = changed - self.looked_at.swap(changed, Ordering::Relaxed);
        let ended = since_look < QUIET && changed - self.trimmed_at.load(Ordering::Relaxed) >= QUIET;
        if ended {
            self.trimmed_at.store(changed, Ordering::Relaxed);
        }
        ended
    }
}

pub(crate) async fn trim(store: &SqliteStore) -> Outcome<()> {
    let mut writer = store.write.acquire().await?;
    let changed =
        sqlx::query_scalar!(r#"SELECT total_changes() AS "changed!: i64""#).fetch_one(&mut *writer).await?;
    if !store.load.has_ended(changed) {
        return Ok(());
    }
    shrink(&mut writer).await?;
    drop(writer);
    // Those that nobody uses just now; each stays out of the pool until all have been seen, or one would be seen twice.
    let mut readers = Vec::new();
    while let Some(mut reader) = store.read.try_acquire() {
        shrink(&mut reader).await?;
        readers.push(reader);
    }
    Ok(())
}

async fn shrink(connection: &mut SqliteConnection) -> Outcome<()> {
    sqlx::query("PRAGMA shrink_memory").execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_burst_is_worth_a_trim() {
        let load = Load::default();
        let looks = [10, 30, 50_000, 90_000, 90_100, 90_200, 90_900, 91_500, 91_600];
        let ended: Vec<i64> = looks.into_iter().filter(|changed| load.has_ended(*changed)).collect();
        assert_eq!(ended, [90_100, 91_500], "once after a burst, and again when enough has come together");
    }
}
