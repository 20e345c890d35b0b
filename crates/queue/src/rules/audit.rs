//! The audit log's chain.
//!
//! Each row gets a place and a hash over the hash before it and all of its own fields, so a row that is changed,
//! removed, moved or slipped in shows. Rows are chained a moment after they are written, by whoever keeps the chain:
//! chaining inside the writing transaction would let one lock stand between all callers that enqueue.

use leasehold_types::{
    TenantId,
    people::{AuditEntry, BrokenLink},
};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Where the chain ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChainHead {
    pub position: i64,
    pub hash: String,
}

/// What there is to verify.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainExtent {
    pub head: ChainHead,
    /// The highest place any row claims; beyond the head only if somebody put it there.
    pub highest: i64,
    pub waiting: i64,
}

/// What somebody did, on its way into the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewAuditEntry {
    /// None: it concerns the installation.
    pub tenant: Option<TenantId>,
    pub action: &'static str,
    pub object_type: &'static str,
    pub object_id: String,
    pub reason: Option<String>,
}

impl NewAuditEntry {
    pub fn new(
        tenant: Option<TenantId>,
        action: &'static str,
        object_type: &'static str,
        object_id: impl ToString,
    ) -> Self {
        Self { tenant, action, object_type, object_id: object_id.to_string(), reason: None }
    }

    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }
}

/// The hash of a row that stands at `position` behind `previous`.
pub fn link(previous: &str, position: i64, row: &AuditEntry) -> String {
    let mut digest = Sha256::new();
    let tenant = row.tenant_id.map(|id| id.to_string());
    let (place, id, at) = (position.to_string(), row.id.to_string(), row.created_at.micros().to_string());
    let fields = [
        Some(previous),
        Some(&place),
        Some(&id),
        tenant.as_deref(),
        Some(&row.actor),
        Some(&row.action),
        Some(&row.object_type),
        Some(&row.object_id),
        row.reason.as_deref(),
        row.origin.as_deref(),
        Some(&at),
    ];
    for field in fields {
        // With its length, so that no two rows read the same; nothing differs from an empty text.
        match field {
            Some(text) => digest.update(format!("{}:{text};", text.len())),
            None => digest.update("-;"),
        }
    }
    digest.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Gives rows their places behind `head`; the new head.
pub fn extend(mut head: ChainHead, rows: &mut [AuditEntry]) -> ChainHead {
    for row in rows {
        head.position += 1;
        head.hash = link(&head.hash, head.position, row);
        row.position = Some(head.position);
        row.hash = Some(head.hash.clone());
    }
    head
}

/// Follows `rows` from `reached`; stops at the first that is not what was written.
pub fn follow(mut reached: ChainHead, rows: &[AuditEntry]) -> Result<ChainHead, (ChainHead, BrokenLink)> {
    for row in rows {
        let position = reached.position + 1;
        if row.position != Some(position) {
            return Err((reached, missing(position)));
        }
        let hash = link(&reached.hash, position, row);
        if row.hash.as_deref() != Some(hash.as_str()) {
            let what = "This row is not the one that was written here, or one before it is gone.".into();
            return Err((reached, BrokenLink { position, id: Some(row.id), what }));
        }
        reached = ChainHead { position, hash };
    }
    Ok(reached)
}

pub fn missing(position: i64) -> BrokenLink {
    BrokenLink { position, id: None, what: "The row that belongs here is gone.".into() }
}

/// Whether the chain ends where its head says.
pub fn ends_at(reached: &ChainHead, extent: &ChainExtent) -> Option<BrokenLink> {
    if reached.position < extent.head.position {
        return Some(missing(reached.position + 1));
    }
    if reached.hash != extent.head.hash {
        let what = "The chain does not end with the hash that was noted for it.".into();
        return Some(BrokenLink { position: reached.position, id: None, what });
    }
    if extent.highest > extent.head.position {
        let what = "A row stands behind the end of the chain: it was put there.".into();
        return Some(BrokenLink { position: extent.highest, id: None, what });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::Timestamp;

    fn row(id: i64) -> AuditEntry {
        AuditEntry {
            id,
            tenant_id: None,
            actor: "ann".into(),
            action: "job.cancel".into(),
            object_type: "job".into(),
            object_id: "7".into(),
            reason: None,
            origin: None,
            created_at: Timestamp::from_secs(1),
            position: None,
            hash: None,
        }
    }

    fn chain() -> (ChainHead, Vec<AuditEntry>) {
        let mut rows: Vec<_> = (1..=4).map(row).collect();
        let head = extend(ChainHead::default(), &mut rows);
        (head, rows)
    }

    #[test]
    fn an_untouched_chain_is_followed_to_its_head() {
        let (head, rows) = chain();
        assert_eq!(follow(ChainHead::default(), &rows).unwrap(), head);
    }

    #[test]
    fn every_field_counts() {
        let changes: [fn(&mut AuditEntry); 9] = [
            |r| r.id = 9,
            |r| r.tenant_id = Some(leasehold_types::TenantId(uuid::Uuid::nil())),
            |r| r.actor = "bob".into(),
            |r| r.action = "job.create".into(),
            |r| r.object_type = "key".into(),
            |r| r.object_id = "8".into(),
            |r| r.reason = Some(String::new()),
            |r| r.origin = Some("x".into()),
            |r| r.created_at = Timestamp::from_secs(2),
        ];
        for (nth, change) in changes.into_iter().enumerate() {
            let (_, mut rows) = chain();
            change(&mut rows[1]);
            let (reached, broken) = follow(ChainHead::default(), &rows).unwrap_err();
            assert_eq!((reached.position, broken.position), (1, 2), "change {nth}");
        }
    }

    #[test]
    fn neighbouring_fields_cannot_lend_each_other_letters() {
        let (mut one, mut other) = (row(1), row(1));
        (one.actor, one.action) = ("ab".into(), "c".into());
        (other.actor, other.action) = ("a".into(), "bc".into());
        assert_ne!(link("", 1, &one), link("", 1, &other));
    }
}
