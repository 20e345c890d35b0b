//! What programs ask for: lists in any order, counts, files, and events by cursor.

use super::{Engine, shown::hide_in_lines};
use crate::{
    attachments::NewAttachment,
    params::OutboxEvent,
    remote::HeldJob,
    scope::{Permission, Scope},
};
use leasehold_types::{
    JobFilter, JobRef, Problem, ProblemCode,
    browse::{Browse, BrowsedJobs, KindCounts, KindFilter},
    unit::UnitsView,
    view::{AttachmentView, JobDetail, LogLine},
};
use std::borrow::Cow;

/// Who wants to go further follows the cursor, which costs the same on every page.
pub const MOST_SKIPPED: u32 = 10_000;
const MOST_UNITS: u32 = 500;
/// Events looked at for one answer, whether they are wanted or not.
const MOST_LOOKED_AT: i64 = 20_000;

/// Events after a cursor, and the cursor to go on from.
#[derive(Clone, PartialEq, Debug)]
pub struct EventsPage {
    pub events: Vec<OutboxEvent>,
    /// Everything up to here has been looked at.
    pub next_after: i64,
    /// There is more to read already.
    pub more: bool,
}

impl Engine {
    pub async fn browse(
        &self,
        scope: &Scope,
        filter: &JobFilter,
        page: Browse,
    ) -> Result<BrowsedJobs, Problem> {
        scope.require(Permission::View)?;
        let mut places = filter.payload.iter();
        // What is hidden on the way out cannot be asked for either: guessing would tell it.
        if let Some(hidden) = places.find(|m| m.path.iter().any(|name| self.config.secrets.hides(name))) {
            let field = format!("payload.{}", hidden.path.join("."));
            return Err(Problem::invalid(field, "Secrets are masked and cannot be searched for."));
        }
        let filter = self.as_kept(filter).await?;
        Ok(self.store.browse(scope, &*scope.narrowed(&filter)?, page).await?)
    }

    /// A filter by an id with a secret in it finds what was kept in its place.
    pub(super) async fn as_kept<'a>(&self, filter: &'a JobFilter) -> Result<Cow<'a, JobFilter>, Problem> {
        match filter.owner_user_id.as_deref().map(str::trim) {
            Some(owner) if self.config.secrets.redactor().finds(owner) => {
                let owner_user_id = Some(self.key_hash().await?.of(owner));
                Ok(Cow::Owned(JobFilter { owner_user_id, ..filter.clone() }))
            }
            _ => Ok(Cow::Borrowed(filter)),
        }
    }

    pub async fn kind_counts(&self, scope: &Scope, filter: &KindFilter) -> Result<Vec<KindCounts>, Problem> {
        scope.require(Permission::View)?;
        scope.choose_domains(filter.domain.as_deref())?;
        let mut kinds = self.store.kind_counts(scope, filter).await?;
        kinds.retain(|kind| scope.sees_domain(&kind.domain));
        Ok(kinds)
    }

    /// The job without its log lines, which programs read by themselves.
    pub async fn job_without_logs(&self, scope: &Scope, job: JobRef) -> Result<JobDetail, Problem> {
        self.job_shown(scope, job, 0).await
    }

    /// Which job is meant. `NOT_FOUND`.
    pub async fn find_job(&self, scope: &Scope, job: JobRef) -> Result<HeldJob, Problem> {
        scope.require(Permission::View)?;
        let found = self.store.held_job(scope, job, false).await?;
        found.ok_or_else(|| Problem::not_found("This job"))
    }

    /// Lines of one attempt after a position; of the last attempt when none is named.
    pub async fn log_lines(
        &self,
        scope: &Scope,
        job: JobRef,
        attempt: Option<i32>,
        after: i64,
        limit: u32,
    ) -> Result<(i32, Vec<LogLine>), Problem> {
        let attempt = match attempt {
            Some(attempt) => self.find_job(scope, job).await.map(|_| attempt)?,
            None => self.find_job(scope, job).await?.attempt,
        };
        let mut lines = self.store.logs(scope, job, attempt, after, limit).await?;
        hide_in_lines(self.config.secrets.redactor(), &mut lines);
        Ok((attempt, lines))
    }

    pub async fn all_units(&self, scope: &Scope, job: JobRef) -> Result<UnitsView, Problem> {
        self.find_job(scope, job).await?;
        Ok(self.store.units(scope, job, MOST_UNITS).await?)
    }

    /// Keeps a file with a job that is anybody's or nobody's just now. Text is kept without secrets.
    pub async fn keep_file(
        &self,
        scope: &Scope,
        job: JobRef,
        file: NewAttachment,
    ) -> Result<AttachmentView, Problem> {
        scope.require(Permission::Operate)?;
        file.check(self.config.max_attachment_bytes)?;
        let held = self.store.held_job(scope, job, true).await?;
        let held = held.ok_or_else(|| Problem::not_found("This job"))?;
        let redactor = self.redactor_of(&held);
        let file = self.without_secrets(file, redactor).await?;
        Ok(self.store.keep_file(scope, job, file).await?)
    }

    /// Events of the tenants the scope reaches, oldest first, never beyond what surely has no gap. From 0: from the
    /// oldest that is kept. `CURSOR_EXPIRED` when events after the cursor are no longer kept.
    pub async fn events_after(
        &self,
        scope: &Scope,
        wanted: &KindFilter,
        after: i64,
        limit: usize,
    ) -> Result<EventsPage, Problem> {
        scope.require(Permission::View)?;
        scope.choose_domains(wanted.domain.as_deref())?;
        let horizon = self.hub.horizon();
        let mut next_after = self.beginning(after, horizon).await?;
        let look_until = horizon.min(next_after.saturating_add(MOST_LOOKED_AT));
        let mut events = Vec::new();
        while next_after < look_until && events.len() < limit {
            let room = (limit - events.len()).clamp(100, 1_000) as u32;
            let page = self.store.events(scope, next_after, look_until, room).await?;
            let was_full = page.len() == room as usize;
            for event in page {
                if events.len() == limit {
                    return Ok(EventsPage { events, next_after, more: true });
                }
                next_after = event.event.id;
                let what = &event.event;
                let theirs = scope.sees_domain(&what.domain);
                if theirs && wanted.matches(&what.domain, &what.queue, &what.job_type) {
                    events.push(event);
                }
            }
            if !was_full {
                next_after = look_until;
            }
        }
        Ok(EventsPage { more: next_after < horizon, events, next_after: next_after.max(after) })
    }

    /// Where reading begins.
    pub async fn beginning(&self, after: i64, horizon: i64) -> Result<i64, Problem> {
        if after >= horizon {
            let ahead = after > horizon && after > self.store.outbox_tail().await?;
            return if ahead { Err(cursor_expired(after)) } else { Ok(after) };
        }
        let oldest = self.store.oldest_event().await?;
        match (after, oldest) {
            (0, oldest) => Ok((oldest - 1).max(0)),
            (after, oldest) if oldest == 0 || after < oldest - 1 => Err(cursor_expired(after)),
            (after, _) => Ok(after),
        }
    }
}

fn cursor_expired(after: i64) -> Problem {
    let detail = format!(
        "Events after {after} are no longer kept here. Read what you follow anew, then go on with after_id=0, \
         which is the oldest event there is."
    );
    Problem::new(ProblemCode::CursorExpired, detail)
}
