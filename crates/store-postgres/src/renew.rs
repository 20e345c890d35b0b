//! Renewals: many leases in one statement, on the pool reserved for them.

use crate::{
    PostgresStore,
    convert::{self, moment, text_if},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    RenewLeases, StoreResult,
    params::{Measured, RenewAnswer, Renewal, Wake},
    progress::STAGES_KEPT,
};
use serde_json::Value;
use std::collections::HashSet;
use uuid::Uuid;

struct Held {
    place: i64,
    cancel_requested: bool,
    changed: bool,
}

#[async_trait]
impl RenewLeases for PostgresStore {
    async fn renew(&self, renewals: Vec<Renewal>) -> StoreResult<Vec<RenewAnswer>> {
        let mut answers = vec![RenewAnswer::Lost; renewals.len()];
        let mut waiting: Vec<(usize, &Renewal)> = renewals.iter().enumerate().collect();
        let mut told = false;
        // One statement changes a row once; a second report on the same job goes into another round.
        while !waiting.is_empty() {
            let mut seen = HashSet::new();
            let (now, later): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|(_, r)| seen.insert(r.lease.number));
            for held in self.keep_distinct(&now).await? {
                let (index, _) = now[held.place as usize - 1];
                answers[index] = RenewAnswer::Held { cancel_requested: held.cancel_requested };
                told |= held.changed;
            }
            waiting = later;
        }
        if told {
            self.wakes.tell(&[Wake::Events]);
        }
        Ok(answers)
    }
}

impl PostgresStore {
    #[expect(clippy::too_many_lines, reason = "one statement and its binds")]
    async fn keep_distinct(&self, renewals: &[(usize, &Renewal)]) -> StoreResult<Vec<Held>> {
        let now = self.clock.now();
        let each = || renewals.iter().map(|(_, r)| *r);
        let report = |pick: fn(&Measured) -> Option<&String>| -> Vec<Option<String>> {
            each().map(|r| text_if(r.progress.as_ref().and_then(pick))).collect()
        };
        let numbers: Vec<i64> = each().map(|r| r.lease.number).collect();
        let workers: Vec<String> = each().map(|r| r.lease.worker_id.0.clone()).collect();
        let leases: Vec<Uuid> = each().map(|r| r.lease.lease_id.0).collect();
        let until: Vec<_> = each().map(|r| moment(now.plus(r.extend_by.min(self.longest_lease)))).collect();
        let stages = report(|p| p.stage.as_ref());
        let messages = report(|p| p.message.as_ref());
        let percents: Vec<Option<i16>> =
            each().map(|r| r.progress.as_ref().and_then(|p| p.percent).map(|p| p.clamp(0, 100))).collect();
        let pids: Vec<Option<i32>> = each().map(|r| r.pid).collect();
        let at_of = |r: &Renewal| r.progress.as_ref().and_then(|p| p.at).map_or(now, |at| at.min(now));
        let ats: Vec<_> = each().map(|r| moment(at_of(r))).collect();
        // As the others write moments in JSON.
        let marks: Vec<String> = each().map(|r| at_of(r).to_string()).collect();
        let checkpoints: Vec<Option<Value>> =
            each().map(|r| r.checkpoint.as_ref().map(convert::json)).collect();
        sqlx::query_as!(
            Held,
            r#"WITH held AS MATERIALIZED (
                 SELECT j.number, a.place, a.until, a.stage, a.message, a.pid, a.checkpoint, a.at, a.mark,
                        GREATEST(j.progress_percent, a.percent) AS percent,
                        GREATEST(j.progress_percent, a.percent) <> j.progress_percent
                          OR COALESCE(a.stage, j.stage) IS DISTINCT FROM j.stage
                          OR COALESCE(a.message, j.progress_message) IS DISTINCT FROM j.progress_message
                          AS changed
                 FROM UNNEST($1::bigint[], $2::text[], $3::uuid[], $4::timestamptz[], $5::text[], $6::smallint[],
                             $7::text[], $8::int[], $9::jsonb[], $12::timestamptz[], $13::text[]) WITH ORDINALITY
                        AS a(number, worker, lease, until, stage, percent, message, pid, checkpoint, at, mark, place)
                 JOIN jobs j ON j.number = a.number
                 WHERE j.worker_id = a.worker AND j.lease_id = a.lease
                 ORDER BY j.number
                 FOR UPDATE OF j),
               kept AS (
                 UPDATE jobs j
                 SET leased_until = GREATEST(j.leased_until, h.until), updated_at = $10,
                     stage = COALESCE(h.stage, j.stage), progress_percent = h.percent,
                     progress_message = COALESCE(h.message, j.progress_message),
                     running_pid = COALESCE(h.pid, j.running_pid),
                     checkpoint = COALESCE(h.checkpoint, j.checkpoint),
                     stage_log = CASE WHEN h.stage IS DISTINCT FROM j.stage AND h.stage IS NOT NULL
                                       AND jsonb_array_length(COALESCE(j.stage_log, '[]')) < $14
                                      THEN COALESCE(j.stage_log, '[]') || jsonb_build_object(
                                             'attempt', j.attempt_count, 'stage', h.stage, 'at', h.mark)
                                      ELSE j.stage_log END
                 FROM held h WHERE j.number = h.number
                 RETURNING j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.attempt_count,
                           j.progress_percent, j.stage, j.progress_message, j.cancel_requested_at, h.place,
                           h.changed, h.at),
               told AS (
                 INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                        progress, attrs, created_at)
                 SELECT tenant_id, number, domain, queue, job_type, 'job.progress', 'processing', attempt_count,
                        progress_percent,
                        NULLIF(jsonb_strip_nulls(jsonb_build_object('stage', stage, 'message', progress_message)),
                               '{}'),
                        at
                 FROM kept WHERE changed AND $11 ORDER BY place)
               SELECT place AS "place!", cancel_requested_at IS NOT NULL AS "cancel_requested!",
                      changed AS "changed!"
               FROM kept"#,
            &numbers,
            &workers,
            &leases,
            &until,
            &stages as &[Option<String>],
            &percents as &[Option<i16>],
            &messages as &[Option<String>],
            &pids as &[Option<i32>],
            &checkpoints as &[Option<Value>],
            moment(now),
            self.outbox,
            &ats,
            &marks,
            STAGES_KEPT as i32
        )
        .fetch_all(&self.lease)
        .await
        .map_err(database)
    }
}
