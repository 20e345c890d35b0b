//! Tokens that open one stream, for clients that can send no header. A token carries what it may open, who asked for it
//! and until when, and is signed by the installation: nothing is stored for it, and every process can check it. It is
//! worth no more than its owner is when the stream is opened, and the stream ends when its owner's right does.

use crate::sse::Who;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use leasehold_queue::{Actor, Engine, Permission, Reach, Scope};
use leasehold_types::{KeyId, Problem, ProblemCode, TenantId, Timestamp, browse::KindFilter};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// For opening; an open stream lasts as long as its owner's right.
const LIFE: Duration = Duration::from_secs(60);
const PURPOSE: &str = "event stream";
/// It has to fit into an address, with all the names in it.
const LONGEST: usize = 900;

/// What a token says. Short names: it travels in an address.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    /// Seconds since 1970.
    #[serde(rename = "exp")]
    until: i64,
    tenant: Option<TenantId>,
    by: Owner,
    /// The number of the only job it shows.
    pub job: Option<i64>,
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Owner {
    Key {
        id: KeyId,
        prefix: String,
    },
    /// By the hash of its id, and the slug of the tenant it looks at.
    Session {
        hash: String,
        slug: String,
    },
}

impl Claims {
    pub fn kind(&self) -> KindFilter {
        KindFilter { domain: self.domain.clone(), queue: self.queue.clone(), job_type: self.job_type.clone() }
    }
}

/// A token for whoever asks, and until when it opens the stream.
pub async fn issue(
    engine: &Engine,
    who: &Who,
    job: Option<i64>,
    kind: KindFilter,
) -> Result<(String, Timestamp), Problem> {
    let by = match who {
        Who::Session { visit, session } => {
            Owner::Session { hash: session.clone(), slug: visit.tenant.slug.clone() }
        }
        Who::Key { scope } => match &scope.actor {
            Actor::Key { id, prefix, .. } => Owner::Key { id: *id, prefix: prefix.clone() },
            _ => return Err(refused()),
        },
    };
    let until = engine.now().plus(LIFE).secs();
    let KindFilter { domain, queue, job_type } = kind;
    let claims = Claims { until, tenant: who.scope().tenant(), by, job, domain, queue, job_type };
    let text = serde_json::to_string(&claims).map_err(|_| refused())?;
    let signature = engine.sign(PURPOSE, &text).await?;
    let token = format!("{}.{signature}", BASE64_URL_SAFE_NO_PAD.encode(text));
    if token.len() > LONGEST {
        return Err(Problem::invalid(
            "domain",
            "These names are too long for a token. Ask for fewer of them.",
        ));
    }
    Ok((token, Timestamp::from_secs(until)))
}

/// Who reads with this token, and what.
pub async fn open(engine: &Engine, token: &str) -> Result<(Who, Claims), Problem> {
    let (text, signature) = parts(token).ok_or_else(refused)?;
    if !engine.is_genuine(PURPOSE, &text, signature).await? {
        return Err(refused());
    }
    let claims: Claims = serde_json::from_str(&text).map_err(|_| refused())?;
    if engine.now() >= Timestamp::from_secs(claims.until) {
        return Err(refused());
    }
    let who = owner(engine, &claims).await?.ok_or_else(refused)?;
    Ok((who, claims))
}

fn parts(token: &str) -> Option<(String, &str)> {
    let (text, signature) = token.split_once('.').filter(|_| token.len() <= LONGEST)?;
    let text = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    Some((String::from_utf8(text).ok()?, signature))
}

/// None when the key was revoked or the session has ended meanwhile.
async fn owner(engine: &Engine, claims: &Claims) -> Result<Option<Who>, Problem> {
    match &claims.by {
        Owner::Key { id, prefix } => {
            if engine.store().live_keys(&[*id]).await?.is_empty() {
                return Ok(None);
            }
            let Some((key, _)) = engine.store().key_by_prefix(prefix).await? else { return Ok(None) };
            let actor = Actor::Key { id: *id, name: key.name, prefix: key.prefix };
            let reach = claims.tenant.map_or(Reach::All, Reach::Tenant);
            let scope = engine.confine(Scope::new(reach, actor, Permission::View));
            Ok(Some(Who::Key { scope }))
        }
        Owner::Session { hash, slug } => {
            let Some(tenant) = claims.tenant else { return Ok(None) };
            let rights = engine.store().session_rights(&[(hash.clone(), tenant)]).await?;
            let Some(right) = rights.into_iter().next().flatten() else { return Ok(None) };
            let Some(user) = engine.user(right.user_id).await? else { return Ok(None) };
            let visit = Box::new(engine.visit(user, slug).await?);
            // Another tenant may have come by the slug meanwhile.
            if visit.tenant.id != tenant {
                return Ok(None);
            }
            Ok(Some(Who::Session { visit, session: hash.clone() }))
        }
    }
}

/// The same answer for every token that does not work.
fn refused() -> Problem {
    let detail = "This token is not known, has expired, or its owner may not read any more. Ask for a new one: POST \
        /api/v1/jobs/events/token.";
    Problem::new(ProblemCode::Unauthenticated, detail)
}
