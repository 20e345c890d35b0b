//! Which jobs a filter means: one builder of the condition, for lists, for plans and for applying them.
//!
//! The only statements put together at run time: a filter has too many shapes. There is one index for lists,
//! `(tenant, status, -number)`: an answer is the merge of what each tenant and state gives in order, so a page
//! costs the same however many jobs there are. The minus is there for the planner: a plain number could be had in
//! order from the primary key as well, and it would now and then read the whole table backwards for a state that
//! is rare.

use crate::convert::moment;
use leasehold_types::{JobFilter, JobStatus, PayloadMatch, TenantId, Timestamp};
use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};

/// What the free text of a filter was found to mean.
pub enum Search {
    Nothing,
    /// It names a job, and is no text search then.
    Job(i64),
    Text(String),
}

impl Search {
    pub fn text(words: &str) -> Self {
        Self::Text(contains_pattern(words))
    }
}

/// The free text of a filter, if there is any.
pub fn words_of(filter: &JobFilter) -> Option<&str> {
    filter.q.as_deref().map(str::trim).filter(|q| !q.is_empty())
}

/// The jobs of a tenant (or of all) that match a filter.
pub struct Selection<'a> {
    tenant: Option<TenantId>,
    /// Each once. Empty means that nothing can match.
    statuses: Vec<JobStatus>,
    filter: &'a JobFilter,
    search: &'a Search,
    above: Option<i64>,
    below: Option<i64>,
    ended_by: Option<Timestamp>,
}

impl<'a> Selection<'a> {
    pub fn new(tenant: Option<TenantId>, filter: &'a JobFilter, search: &'a Search) -> Self {
        let mut statuses =
            if filter.statuses.is_empty() { JobStatus::ALL.to_vec() } else { filter.statuses.clone() };
        statuses.sort();
        statuses.dedup();
        Self { tenant, statuses, filter, search, above: None, below: None, ended_by: None }
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

    /// `t` (tenants) times `s` (states), to stand after `FROM`: every index range that is asked for.
    pub fn push_ranges(&self, query: &mut QueryBuilder<Postgres>) {
        self.push_tenants(query);
        query.push(" CROSS JOIN UNNEST(").push_bind(self.words()).push("::text[]) s(status)");
    }

    pub fn push_tenants(&self, query: &mut QueryBuilder<Postgres>) {
        match self.tenant {
            Some(tenant) => query.push("(SELECT ").push_bind(tenant.0).push("::uuid AS id) t"),
            None => query.push("tenants t"),
        };
    }

    pub fn statuses(&self) -> &[JobStatus] {
        &self.statuses
    }

    /// The jobs `j` of one range, to stand after `WHERE`.
    pub fn push_range_condition(&self, query: &mut QueryBuilder<Postgres>) {
        query.push("j.tenant_id = t.id AND j.status = s.status");
        self.push_condition(query);
    }

    /// The matching numbers, lowest first, at most `max`.
    pub fn push_lowest_numbers(&self, query: &mut QueryBuilder<Postgres>, max: i64) {
        query.push("SELECT j.number FROM ");
        self.push_ranges(query);
        query.push(" CROSS JOIN LATERAL (SELECT j.number FROM jobs j WHERE ");
        self.push_range_condition(query);
        query.push(" ORDER BY -j.number DESC LIMIT ").push_bind(max);
        query.push(") j ORDER BY j.number LIMIT ").push_bind(max);
    }

    /// Whether the jobs `j` with these numbers match, to stand after `WHERE`: without ranges, so that a row that
    /// had to be waited for is looked at again as it is then.
    pub fn push_condition_on(&self, query: &mut QueryBuilder<Postgres>, numbers: Vec<i64>) {
        query.push("j.number = ANY(").push_bind(numbers).push("::bigint[])");
        query.push(" AND j.status = ANY(").push_bind(self.words()).push("::text[])");
        if let Some(tenant) = self.tenant {
            query.push(" AND j.tenant_id = ").push_bind(tenant.0);
        }
        self.push_condition(query);
    }

    fn words(&self) -> Vec<String> {
        self.statuses.iter().map(|status| status.as_str().to_owned()).collect()
    }

    /// Everything but tenant and state.
    fn push_condition(&self, query: &mut QueryBuilder<Postgres>) {
        if let Some(above) = self.above {
            query.push(" AND -j.number < ").push_bind(-above);
        }
        if let Some(below) = self.below {
            query.push(" AND -j.number > ").push_bind(-below);
        }
        if let Some(at) = self.ended_by {
            query.push(" AND j.completed_at <= ").push_bind(moment(at));
        }
        push_filter(query, self.filter);
        push_search(query, self.search);
    }
}

/// Only properties of objects are followed, so that both databases find the same.
fn push_payload(query: &mut QueryBuilder<Postgres>, wanted: &PayloadMatch) {
    query
        .push(" AND (SELECT CASE jsonb_typeof(v) WHEN 'string' THEN v #>> '{}' = ")
        .push_bind(wanted.value.clone());
    query.push(" WHEN 'number' THEN v = ").push_bind(number_in(&wanted.value));
    query.push(" WHEN 'boolean' THEN v::text = ").push_bind(wanted.value.clone());
    query.push(" WHEN 'null' THEN 'null' = ").push_bind(wanted.value.clone());
    query.push(" ELSE FALSE END FROM (SELECT j.payload");
    for name in &wanted.path {
        query.push(" -> ").push_bind(name.clone()).push("::text");
    }
    query.push(" AS v) place)");
}

/// The value as a number, to be compared as one (`1.0` is `1`); nothing else equals JSON's null.
fn number_in(value: &str) -> Value {
    serde_json::from_str::<serde_json::Number>(value).map_or(Value::Null, Value::Number)
}

fn push_filter(query: &mut QueryBuilder<Postgres>, filter: &JobFilter) {
    let equal = [
        (" AND j.source = ", filter.source.map(|s| s.as_str().to_owned())),
        (" AND j.domain = ", filter.domain.clone()),
        (" AND j.queue = ", filter.queue.clone()),
        (" AND j.job_type = ", filter.job_type.clone()),
        (" AND j.owner_user_id = ", filter.owner_user_id.clone()),
        (" AND j.error_code = ", filter.error_code.clone()),
    ];
    for (condition, value) in equal {
        if let Some(value) = value {
            query.push(condition).push_bind(value);
        }
    }
    if let Some(key) = &filter.definition_key {
        query.push(" AND j.definition_id = (SELECT id FROM job_definitions WHERE key = ");
        query.push_bind(key.clone()).push(")");
    }
    filter.payload.iter().for_each(|wanted| push_payload(query, wanted));
    let times = [
        (" AND j.created_at >= ", filter.created_after),
        (" AND j.created_at < ", filter.created_before),
        (" AND j.completed_at < ", filter.completed_before),
    ];
    for (condition, at) in times {
        if let Some(at) = at {
            query.push(condition).push_bind(moment(at));
        }
    }
}

fn push_search(query: &mut QueryBuilder<Postgres>, search: &Search) {
    match search {
        Search::Nothing => {}
        Search::Job(number) => {
            query.push(" AND j.number = ").push_bind(*number);
        }
        Search::Text(pattern) => {
            for (index, column) in
                ["job_type", "error_code", "error_message", "correlation_id"].iter().enumerate()
            {
                query.push(if index == 0 { " AND (j." } else { " OR j." });
                query.push(column).push(" ILIKE ").push_bind(pattern.clone());
            }
            query.push(")");
        }
    }
}

/// The text anywhere, with the pattern language's own characters taken literally.
fn contains_pattern(q: &str) -> String {
    let mut pattern = String::from("%");
    for c in q.chars().filter(|c| *c != '\0') {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
