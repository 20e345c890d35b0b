//! Tokens that open a stream where no header can be sent.

use crate::{
    api::{Api, Body, QueryPairs, Refusal, admin::place, schemas::Moment},
    auth::{stream_reader::StreamReader, stream_token},
};
use axum::{Json, extract::State, http::StatusCode};
use leasehold_types::{JobRef, Problem, ProblemCode, Timestamp, browse::KindFilter};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a token is to open: the events of a tenant, of some kinds of job, or of one job.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewStreamToken)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The number or id of the only job to be followed.
    job_id: Option<String>,
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
}

/// A token, and the address it opens.
#[derive(Serialize, ToSchema)]
#[schema(as = StreamToken)]
pub struct Token {
    /// Whoever has it can open the stream: keep it out of logs and pages others see.
    token: String,
    /// Until when the stream can be opened. One that is open goes on.
    #[schema(value_type = Moment)]
    expires_at: Timestamp,
    /// On this installation, with the token in it.
    url: String,
}

/// Create a token for a stream
///
/// For clients that can send no header, such as a browser's `EventSource` on another site's page: `?token=…` opens the
/// stream within a minute, as whoever asked for the token and for what was asked for. The stream ends when the key is
/// revoked or the session ends. Made by a key, or by somebody signed in (`?tenant=slug`).
#[utoipa::path(
    post, path = "/jobs/events/token", operation_id = "create_events_token", tag = "events",
    request_body = NewToken, params(super::ReaderParams),
    responses((status = 201, body = Token), Refusal)
)]
pub async fn create(
    State(api): State<Api>,
    reader: StreamReader,
    pairs: QueryPairs,
    Body(body): Body<NewToken>,
) -> Result<(StatusCode, Json<Token>), Refusal> {
    super::nothing_but_who(pairs)?;
    if reader.bound.is_some() {
        let detail = "A token opens a stream and nothing else. Ask for a new one with a key, or signed in.";
        return Err(Problem::new(ProblemCode::Forbidden, detail).into());
    }
    let (job, kind) = body.wanted()?;
    let job = match job {
        Some(job) => Some(api.engine.find_job(reader.scope(), job).await?.number),
        None => {
            reader.scope().choose_domains(kind.domain.as_deref())?;
            None
        }
    };
    let (token, expires_at) = stream_token::issue(&api.engine, &reader.who, job, kind).await?;
    let stream = job.map_or_else(|| "events/stream".to_owned(), |number| format!("{number}/events"));
    let url = format!("/api/v1/jobs/{stream}?token={token}");
    Ok((StatusCode::CREATED, Json(Token { token, expires_at, url })))
}

impl NewToken {
    fn wanted(self) -> Result<(Option<JobRef>, KindFilter), Problem> {
        let kind = KindFilter { domain: self.domain, queue: self.queue, job_type: self.job_type };
        let names = [("domain", &kind.domain), ("queue", &kind.queue), ("job_type", &kind.job_type)];
        for (field, name) in names {
            name.as_deref().map_or(Ok(()), |name| place::check(field, name))?;
        }
        let job = match self.job_id {
            Some(_) if kind != KindFilter::default() => {
                let message = "Name either one job or a domain, queue and job_type, not both.";
                return Err(Problem::invalid("job_id", message));
            }
            Some(id) => Some(id.parse().map_err(|()| Problem::not_found("This job"))?),
            None => None,
        };
        Ok((job, kind))
    }
}
