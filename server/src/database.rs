//! Whether the database answers. A database on another machine that does not is noticed once, for all: requests are
//! told so at once instead of each waiting for a connection, and pages stop saying that they are live.

use crate::problem;
use axum::{
    extract::{Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};
use leasehold_queue::Store;
use leasehold_types::{Problem, ProblemCode};
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use url::Url;

const EVERY: Duration = Duration::from_secs(1);
/// A busy database takes a moment; two such moments in a row are too many.
const PATIENCE: Duration = Duration::from_millis(1_500);
const FAILURES: u32 = 2;
/// Whoever asks whether we are ready wants to know now.
const READY_PATIENCE: Duration = Duration::from_millis(800);

#[derive(Clone)]
pub struct Database {
    store: Arc<dyn Store>,
    /// Where it is, in a sentence, without who we are to it.
    place: Arc<str>,
    up: watch::Receiver<bool>,
}

impl Database {
    /// Starts the watch; it ends with the last clone.
    pub fn watch(store: Arc<dyn Store>, url: &str) -> Self {
        let (tell, up) = watch::channel(true);
        let remote = address_of(url);
        let place =
            remote.as_ref().map_or_else(|| "The database".to_owned(), |a| format!("The database at {a}"));
        let place: Arc<str> = place.into();
        if remote.is_some() {
            // A file on this machine fails by itself, and at once.
            tokio::spawn(keep_watch(store.clone(), tell, place.clone()));
        }
        Self { store, place, up }
    }

    pub async fn is_ready(&self) -> bool {
        tokio::time::timeout(READY_PATIENCE, self.store.ping()).await.is_ok_and(|answer| answer.is_ok())
    }

    /// Returns when the database is known not to answer, at once if that is so already.
    pub async fn lost(&self) {
        // Without a watch nobody ever says so.
        if self.up.clone().wait_for(|up| !up).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn is_lost(&self) -> bool {
        !*self.up.borrow()
    }

    fn problem(&self, what: &str) -> Problem {
        let detail = format!("{} does not answer. {what}", self.place);
        Problem::new(ProblemCode::Unavailable, detail).retry_after(5)
    }
}

async fn keep_watch(store: Arc<dyn Store>, tell: watch::Sender<bool>, place: Arc<str>) {
    let mut failures = 0;
    while !tell.is_closed() {
        let answered = tokio::time::timeout(PATIENCE, store.ping()).await;
        failures = if matches!(answered, Ok(Ok(()))) { 0 } else { failures + 1 };
        let up = *tell.borrow();
        if up && failures >= FAILURES {
            tracing::error!("{place} does not answer; requests are told so until it does");
            tell.send_replace(false);
        } else if !up && failures == 0 {
            tracing::info!("{place} answers again");
            tell.send_replace(true);
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// In front of everything that needs the database.
pub async fn answers(State(database): State<Database>, request: Request, next: Next) -> Response {
    let nothing = "Nothing was changed; please try again in a moment.";
    if database.is_lost() {
        return problem::respond_to(request.headers(), &database.problem(nothing));
    }
    // What was only looked at can be given up; a change may have been made, so its own answer is waited for.
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let headers = request.headers().clone();
    tokio::select! {
        answer = next.run(request) => answer,
        () = database.lost() => problem::respond_to(&headers, &database.problem(nothing)),
    }
}

/// Host and port; nobody's name or password. None for a file.
fn address_of(url: &str) -> Option<String> {
    if !url.starts_with("postgres") {
        return None;
    }
    let parsed = Url::parse(url).ok();
    let asked = |name: &str| {
        let pairs = parsed.as_ref()?.query_pairs();
        pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let host = asked("host").or_else(|| parsed.as_ref()?.host_str().map(str::to_owned));
    let port = asked("port").or_else(|| parsed.as_ref()?.port().map(|port| port.to_string()));
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "localhost".to_owned());
    Some(format!("{host}:{}", port.unwrap_or_else(|| "5432".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_named_without_anybodys_name() {
        for (url, place) in [
            ("postgres://ann:s3cret@db.internal:5433/jobs", Some("db.internal:5433")),
            ("postgresql://ann:s3cret@db.internal/jobs?sslmode=require", Some("db.internal:5432")),
            ("postgres:///jobs?host=/run/postgresql&password=s3cret", Some("/run/postgresql:5432")),
            ("sqlite:data/leasehold.db", None),
        ] {
            assert_eq!(address_of(url).as_deref(), place);
        }
    }
}
