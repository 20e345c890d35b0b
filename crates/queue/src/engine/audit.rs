//! Reading the audit log, and walking its chain.

use super::Engine;
use crate::{
    audit::{self, ChainHead},
    scope::{Permission, Scope},
};
use leasehold_types::{
    Page, PageRequest, Problem,
    people::{AuditEntry, AuditFilter, ChainState},
};

/// Rows per page of the walk.
const STEP: u32 = 2_000;

impl Engine {
    /// Admins see the acts of their tenant, super-admins all.
    pub async fn audit_entries(
        &self,
        scope: &Scope,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<Page<AuditEntry>, Problem> {
        scope.require(if scope.tenant().is_some() { Permission::Operate } else { Permission::Govern })?;
        let limit = page.limit.clamp(1, 1_000);
        Ok(self.store.audit_entries(scope, filter, PageRequest { limit, ..page }).await?)
    }

    /// Walks the chain to the end it had when the walk began, and names the first row that is not as it was written.
    pub async fn verify_audit(&self, scope: &Scope) -> Result<ChainState, Problem> {
        scope.require(Permission::Govern)?;
        let extent = self.store.audit_extent().await?;
        let mut reached = ChainHead::default();
        let state = |reached: &ChainHead, broken| ChainState {
            intact_up_to: reached.position,
            waiting: extent.waiting,
            broken,
        };
        while reached.position < extent.head.position {
            let mut rows = self.store.audit_links(reached.position, STEP).await?;
            rows.retain(|row| row.position.is_some_and(|at| at <= extent.head.position));
            if rows.is_empty() {
                break;
            }
            match audit::follow(reached, &rows) {
                Ok(further) => reached = further,
                Err((reached, broken)) => return Ok(state(&reached, Some(broken))),
            }
        }
        Ok(state(&reached, audit::ends_at(&reached, &extent)))
    }
}
