//! Which jobs a filter means: one builder of the condition, for lists, for plans and for applying them.
//!
//! `jobs_list` is the only index for lists. Each state is read from it in order and cut at the size that is
//! wanted; the answer is the merge of the states. So a page costs the same however many jobs there are.

use leasehold_types::{JobFilter, JobStatus, PayloadMatch, TenantId, Timestamp};
use sqlx::{QueryBuilder, Sqlite};

/// The jobs of a tenant (or of all) that match a filter.
pub(crate) struct Selection<'a> {
    tenant: Option<TenantId>,
    /// In no particular order, each once. Empty means that nothing can match.
    statuses: Vec<JobStatus>,
    filter: &'a JobFilter,
    above: Option<i64>,
    below: Option<i64>,
    ended_by: Option<Timestamp>,
    named: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    NewestFirst,
    OldestFirst,
}

impl<'a> Selection<'a> {
    pub fn new(tenant: Option<TenantId>, filter: &'a JobFilter) -> Self {
        let mut statuses =
            if filter.statuses.is_empty() { JobStatus::ALL.to_vec() } else { filter.statuses.clone() };
        statuses.sort();
        statuses.dedup();
        Self { tenant, statuses, filter, above: None, below: None, ended_by: None, named: None }
    }

    /// The filter's text names this job, and is no text search then.
    pub fn naming(self, job: Option<i64>) -> Self {
        Self { named: job, ..self }
    }

    /// Other states never match, whatever the filter says.
    pub fn limited_to(mut self, statuses: &[JobStatus]) -> Self {
        self.statuses.retain(|status| statuses.contains(status));
        self
    }

    /// Numbers larger than this.
    pub fn above(self, number: i64) -> Self {
        Self { above: Some(number), ..self }
    }

    /// Numbers smaller than this.
    pub fn below(self, number: Option<i64>) -> Self {
        Self { below: number, ..self }
    }

    /// Ended no later than this.
    pub fn ended_by(self, moment: Option<Timestamp>) -> Self {
        Self { ended_by: moment, ..self }
    }

    /// The whole condition, to stand after `WHERE`.
    pub fn push_condition(&self, query: &mut QueryBuilder<Sqlite>) {
        self.push_condition_for(query, &self.statuses);
    }

    /// The matching numbers: in order within each state, at most `max` of each.
    pub fn push_numbers(&self, query: &mut QueryBuilder<Sqlite>, order: Order, max: i64) {
        if self.tenant.is_none() || self.statuses.is_empty() {
            self.push_branch(query, &self.statuses, order, max);
            return;
        }
        for (place, status) in self.statuses.iter().enumerate() {
            if place > 0 {
                query.push(" UNION ALL ");
            }
            self.push_branch(query, &[*status], order, max);
        }
    }

    fn push_branch(&self, query: &mut QueryBuilder<Sqlite>, statuses: &[JobStatus], order: Order, max: i64) {
        query.push("SELECT number FROM (SELECT number FROM jobs WHERE ");
        self.push_condition_for(query, statuses);
        query.push(match order {
            Order::NewestFirst => " ORDER BY number DESC LIMIT ",
            Order::OldestFirst => " ORDER BY number LIMIT ",
        });
        query.push_bind(max).push(")");
    }

    /// The index for lists begins with the tenant.
    pub fn is_indexed(&self) -> bool {
        self.tenant.is_some()
    }

    pub fn statuses(&self) -> &[JobStatus] {
        &self.statuses
    }

    /// The same, for these states only.
    pub fn push_condition_for(&self, query: &mut QueryBuilder<Sqlite>, statuses: &[JobStatus]) {
        query.push("TRUE");
        if let Some(tenant) = self.tenant {
            query.push(" AND tenant_id = ").push_bind(tenant.to_string());
        }
        push_statuses(query, statuses);
        if let Some(above) = self.above {
            query.push(" AND number > ").push_bind(above);
        }
        if let Some(below) = self.below {
            query.push(" AND number < ").push_bind(below);
        }
        if let Some(moment) = self.ended_by {
            query.push(" AND completed_at <= ").push_bind(moment.to_string());
        }
        push_filter(query, self.filter);
        match (self.named, words_of(self.filter)) {
            (Some(number), _) => {
                query.push(" AND number = ").push_bind(number);
            }
            (None, Some(words)) => push_text(query, words),
            (None, None) => {}
        }
    }
}

fn push_statuses(query: &mut QueryBuilder<Sqlite>, statuses: &[JobStatus]) {
    if statuses.is_empty() {
        query.push(" AND FALSE");
    } else if statuses.len() < JobStatus::ALL.len() {
        query.push(" AND status IN (");
        let mut words = query.separated(", ");
        for status in statuses {
            words.push_bind(status.as_str());
        }
        query.push(")");
    }
}

/// Everything of the filter but its states and its text.
fn push_filter(query: &mut QueryBuilder<Sqlite>, filter: &JobFilter) {
    let compared = [
        ("source =", filter.source.map(|source| source.as_str().to_owned())),
        ("domain =", filter.domain.clone()),
        ("queue =", filter.queue.clone()),
        ("job_type =", filter.job_type.clone()),
        ("owner_user_id =", filter.owner_user_id.clone()),
        ("error_code =", filter.error_code.clone()),
        ("created_at >=", filter.created_after.map(|at| at.to_string())),
        ("created_at <", filter.created_before.map(|at| at.to_string())),
        ("completed_at <", filter.completed_before.map(|at| at.to_string())),
    ];
    for (comparison, value) in compared {
        if let Some(value) = value {
            query.push(format_args!(" AND {comparison} ")).push_bind(value);
        }
    }
    if !filter.domains.is_empty() {
        query.push(" AND domain IN (");
        let mut domains = query.separated(", ");
        for domain in &filter.domains {
            domains.push_bind(domain.clone());
        }
        query.push(")");
    }
    if let Some(key) = &filter.definition_key {
        query.push(" AND definition_id = (SELECT id FROM job_definitions WHERE key = ");
        query.push_bind(key.clone()).push(")");
    }
    filter.payload.iter().for_each(|wanted| push_payload(query, wanted));
}

/// The free text of a filter, if there is any.
pub(crate) fn words_of(filter: &JobFilter) -> Option<&str> {
    filter.q.as_deref().map(str::trim).filter(|q| !q.is_empty())
}

/// Only properties of objects are followed, so that both databases find the same.
fn push_payload(query: &mut QueryBuilder<Sqlite>, wanted: &PayloadMatch) {
    let place: String = wanted.path.iter().map(|name| format!(".\"{name}\"")).collect();
    let (place, value) = (format!("${place}"), &wanted.value);
    query.push(" AND CASE json_type(payload, ").push_bind(place.clone());
    query.push(") WHEN 'text' THEN json_extract(payload, ").push_bind(place.clone());
    query.push(") = ").push_bind(value.clone());
    for word in ["true", "false", "null"] {
        query.push(format_args!(" WHEN '{word}' THEN '{word}' = ")).push_bind(value.clone());
    }
    for kind in ["integer", "real"] {
        query.push(format_args!(" WHEN '{kind}' THEN json_extract(payload, ")).push_bind(place.clone());
        query.push(") = ");
        // Compared as numbers: `1.0` is `1`. What is none equals nothing.
        match (value.parse::<i64>(), value.parse::<f64>()) {
            (Ok(whole), _) => query.push_bind(whole),
            (_, Ok(real)) => query.push_bind(real),
            _ => query.push("NULL"),
        };
    }
    query.push(" ELSE FALSE END");
}

/// Part of the type, the error or the correlation id; `%` and `_` are plain text.
fn push_text(query: &mut QueryBuilder<Sqlite>, words: &str) {
    query.push(" AND (");
    let pattern = format!("%{}%", words.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
    for (place, column) in
        ["job_type", "error_code", "error_message", "correlation_id"].into_iter().enumerate()
    {
        query.push(if place > 0 { " OR " } else { "" });
        query.push(column).push(" LIKE ").push_bind(pattern.clone()).push(" ESCAPE '\\'");
    }
    query.push(")");
}
