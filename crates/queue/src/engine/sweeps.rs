//! Sweeps that a person starts.

use super::Engine;
use crate::{
    scope::{Permission, Scope},
    upkeep::{IntegrityCount, Place, TtlRule},
};
use leasehold_types::Problem;

const CHUNK: u32 = 500;
/// Chunks of one call; whoever has more to end calls again.
const MOST_CHUNKS: u32 = 400;

/// What a sweep by age did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    pub affected: u64,
    /// There is more of it: the call was bounded.
    pub more: bool,
}

impl Engine {
    /// Ends what has lived too long, chunk by chunk.
    pub async fn sweep_ttl(&self, scope: &Scope, rule: TtlRule) -> Result<Swept, Problem> {
        scope.require(Permission::Operate)?;
        if rule.queued_for.is_none() && rule.running_for.is_none() {
            let message = "Please say age_seconds, runtime_seconds or both. Nothing was changed.";
            return Err(Problem::invalid("age_seconds", message));
        }
        let mut swept = Swept::default();
        for domain in places(scope.choose_domains(rule.domain.as_deref())?) {
            let rule = TtlRule { domain, ..rule.clone() };
            swept.more |= self.sweep_one(scope, &rule, &mut swept.affected).await?;
        }
        Ok(swept)
    }

    /// Whether there is more.
    async fn sweep_one(&self, scope: &Scope, rule: &TtlRule, affected: &mut u64) -> Result<bool, Problem> {
        for _ in 0..MOST_CHUNKS {
            let count = self.store.sweep_ttl(scope, rule, CHUNK).await?;
            *affected += count.queued + count.running;
            if count.queued + count.running < u64::from(CHUNK) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks for rows that contradict themselves; mends them when asked to.
    pub async fn sweep_integrity(
        &self,
        scope: &Scope,
        place: Place,
        fix: bool,
    ) -> Result<IntegrityCount, Problem> {
        scope.require(Permission::Govern)?;
        let mut all = IntegrityCount::default();
        for domain in places(scope.choose_domains(place.domain.as_deref())?) {
            let place = Place { domain, ..place.clone() };
            let found = self.store.sweep_integrity(scope, &place, &self.config.rules, fix).await?;
            all.leases_on_idle_rows += found.leases_on_idle_rows;
            all.expired_leases += found.expired_leases;
            all.fixed += found.fixed;
        }
        Ok(all)
    }
}

/// One sweep per domain, or one everywhere.
fn places(domains: Option<Vec<String>>) -> Vec<Option<String>> {
    domains.map_or_else(|| vec![None], |all| all.into_iter().map(Some).collect())
}
