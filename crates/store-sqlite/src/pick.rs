//! Which jobs a claim takes.
//!
//! Slots are dealt to the tenants with ready jobs by [`leasehold_queue::fairness`]; what a tenant cannot use is
//! dealt again to those who can. Within a tenant only priority, time and number decide, across all of its lanes.
//! When a lane among them is limited, [`crate::limited`] picks.

use crate::{
    SqliteStore,
    convert::limit,
    error::Outcome,
    lanes::{self, Lane},
    limited,
    read::JOBS,
};
use leasehold_queue::{
    fairness::{Claimant, deal},
    params::Selector,
};
use leasehold_types::Timestamp;
use sqlx::SqliteConnection;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::atomic::Ordering,
};

/// A ready job as it is ordered: priority, since when it is due, number.
type Candidate = (i64, String, i64);

/// One tenant's part of the batch.
struct Share {
    lanes: Vec<Lane>,
    /// Jobs the tenant runs already.
    running: i64,
    wanted: usize,
    picked: Vec<Candidate>,
}

impl Share {
    /// It has taken all it was granted, so it may have more.
    fn is_hungry(&self) -> bool {
        self.picked.len() == self.wanted
    }

    fn claimant(&self) -> Claimant {
        let due = if self.is_hungry() { i64::MAX } else { 0 };
        Claimant { running: self.running + self.picked.len() as i64, due }
    }
}

/// The numbers to claim, in claim order: every tenant's first job, then every tenant's second, and so on.
pub(crate) async fn pick(
    store: &SqliteStore,
    connection: &mut SqliteConnection,
    selector: &Selector,
    n: usize,
    now: Timestamp,
) -> Outcome<Vec<i64>> {
    let now = now.to_string();
    let mut shares: Vec<Share> = ready_by_tenant(connection, selector, &now).await?;
    if shares.is_empty() {
        return Ok(Vec::new());
    }
    let turn = store.turn.fetch_add(1, Ordering::Relaxed);
    let lanes = || shares.iter().flat_map(|share| &share.lanes);
    if limited::concerns(selector, lanes()) {
        return limited::pick(connection, selector, lanes(), n, turn, &now).await;
    }
    if shares.len() > 1 {
        let running = running_by_tenant(connection).await?;
        for share in &mut shares {
            share.running = share.lanes.first().and_then(|l| running.get(&l.tenant_id)).copied().unwrap_or(0);
        }
    }
    let mut left = n;
    // Every round either uses up what is left or finds a tenant with nothing more: it ends.
    while left > 0 && shares.iter().any(Share::is_hungry) {
        let claimants: Vec<Claimant> = shares.iter().map(Share::claimant).collect();
        for (share, more) in shares.iter_mut().zip(deal(left as i64, &claimants, turn)) {
            if more > 0 {
                share.wanted += more as usize;
                let before = share.picked.len();
                share.picked = first_of(connection, &share.lanes, share.wanted, &now).await?;
                left -= share.picked.len() - before;
            }
        }
    }
    let mut picked: Vec<(usize, Candidate)> =
        shares.into_iter().flat_map(|share| share.picked.into_iter().enumerate()).collect();
    picked.sort();
    Ok(picked.into_iter().map(|(_, (_, _, number))| number).collect())
}

/// The lanes this worker may take from now, by tenant, each tenant's by priority.
async fn ready_by_tenant(
    connection: &mut SqliteConnection,
    selector: &Selector,
    now: &str,
) -> Outcome<Vec<Share>> {
    let tenant = selector.tenant.map(|id| id.to_string());
    let lanes = lanes::all(connection, tenant.as_deref()).await?;
    let mut by_tenant: BTreeMap<String, Vec<Lane>> = BTreeMap::new();
    for lane in lanes {
        if !lane.closed && lane.due_since.as_str() <= now && selects(selector, &lane) {
            by_tenant.entry(lane.tenant_id.clone()).or_default().push(lane);
        }
    }
    let shares = by_tenant.into_values().map(|mut lanes| {
        lanes.sort_by_key(|lane| lane.priority);
        Share { lanes, running: 0, wanted: 0, picked: Vec::new() }
    });
    Ok(shares.collect())
}

async fn running_by_tenant(connection: &mut SqliteConnection) -> Outcome<HashMap<String, i64>> {
    // The plus keeps SQLite from reading every job in the order of `jobs_list` to spare itself a sort of a few rows.
    let rows = sqlx::query!(
        r#"SELECT tenant_id, COUNT(*) AS "running!: i64" FROM jobs WHERE status = 'processing' GROUP BY +tenant_id"#
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.tenant_id, row.running)).collect())
}

fn selects(selector: &Selector, lane: &Lane) -> bool {
    let among = |pairs: &[(String, String)], name: &str| {
        pairs.is_empty() || pairs.iter().any(|(domain, other)| *domain == lane.domain && other == name)
    };
    among(&selector.kinds, &lane.job_type) && among(&selector.queues, &lane.queue)
}

/// Kinds of jobs, as `(domain, job_type)`, that are switched off.
pub(crate) async fn inactive_kinds(connection: &mut SqliteConnection) -> Outcome<HashSet<(String, String)>> {
    let rows = sqlx::query!("SELECT domain, job_type FROM job_definitions WHERE NOT is_active")
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|row| (row.domain, row.job_type)).collect())
}

/// The first jobs of a tenant over its lanes, which come by priority. Lanes behind a full batch are not read.
async fn first_of(
    connection: &mut SqliteConnection,
    lanes: &[Lane],
    wanted: usize,
    now: &str,
) -> Outcome<Vec<Candidate>> {
    let mut picked = Vec::new();
    for same_priority in lanes.chunk_by(|a, b| a.priority == b.priority) {
        let room = wanted - picked.len();
        if room == 0 {
            break;
        }
        let mut candidates = Vec::new();
        for lane in same_priority {
            candidates.extend(first_of_lane(connection, lane, room, now).await?);
        }
        candidates.sort();
        candidates.truncate(room);
        picked.append(&mut candidates);
    }
    Ok(picked)
}

async fn first_of_lane(
    connection: &mut SqliteConnection,
    lane: &Lane,
    room: usize,
    now: &str,
) -> Outcome<Vec<Candidate>> {
    let room = limit(u32::try_from(room).unwrap_or(u32::MAX));
    // As one value: rows that cross from the database's thread one by one cost more than reading them.
    let found = sqlx::query_scalar!(
        r#"SELECT json_group_array(json_array(priority, due_since, number)) AS "found!: String"
           FROM (SELECT priority, COALESCE(available_at, created_at) AS due_since, number FROM jobs
                 WHERE status = 'queued' AND tenant_id = ?1 AND domain = ?2 AND queue = ?3 AND job_type = ?4
                   AND priority = ?5 AND COALESCE(available_at, created_at) <= ?6
                 ORDER BY COALESCE(available_at, created_at), number LIMIT ?7)"#,
        lane.tenant_id,
        lane.domain,
        lane.queue,
        lane.job_type,
        lane.priority,
        now,
        room
    )
    .fetch_one(connection)
    .await?;
    JOBS.json("number", &found)
}
