//! The door between a browser's request and the engine: who is asking, which tenant, what they may do.
//!
//! The server puts a [`Door`] into Leptos' context and a [`CurrentUser`] into each request's extensions;
//! pages and server functions begin with [`signed_in`] or [`enter`], so none can forget the check.

mod forms;

use crate::jobs::query::encode;
use axum::{
    extract::ConnectInfo,
    http::{StatusCode, request::Parts},
};
pub use forms::{ChosenPassword, Invited, PasswordChange, SetupForm, SignInAttempt};
pub use leasehold_queue::engine::Visit;
use leasehold_queue::{
    Actor, Engine, Permission, Reach, Scope, engine::KeyRequest, scope, triggers::schedule,
};
use leasehold_types::{
    JobRef, JobStatus, Problem, ProblemCode, Role, TenantId, Timestamp, UserId,
    people::LinkOwner,
    view::{ApiKey, Diagnosis, JobDetail, LinkedAttachment, Tenant, User},
};
use leptos::prelude::*;
use leptos_axum::ResponseOptions;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, OnceLock},
};
use tower_sessions::{Session, session::Id};

/// What the server lends to pages and server functions.
#[derive(Clone)]
pub struct Door {
    pub engine: Arc<Engine>,
    pub gate: Arc<dyn Gate>,
    /// `JOBS_PUBLIC_URL` without a slash at its end: the address people open.
    pub public_url: Option<Arc<str>>,
}

/// Passwords and the setup link; the server implements it (hashing is not the dashboard's business).
#[async_trait::async_trait]
pub trait Gate: Send + Sync + 'static {
    /// The user, or `WRONG_CREDENTIALS` / `TOO_MANY_ATTEMPTS`; never a hint which of the two was wrong.
    async fn sign_in(&self, attempt: SignInAttempt<'_>) -> Result<User, Problem>;
    /// Checks the link before its page is shown: `SETUP_LINK_INVALID` when used, expired or unknown.
    async fn check_setup_token(&self, token: &str) -> Result<(), Problem>;
    /// Makes the first super-admin and the first tenant; fields: email, name, password, tenant_name.
    async fn set_up(&self, form: SetupForm) -> Result<(User, Option<Tenant>), Problem>;
    /// The key, and what to show of it this once.
    async fn make_key(&self, scope: &Scope, request: KeyRequest) -> Result<(ApiKey, String), Problem>;
    /// Somebody is asked into a tenant; they join by the link.
    async fn invite(
        &self,
        scope: &Scope,
        tenant: TenantId,
        email: &str,
        role: Role,
    ) -> Result<Invited, Problem>;
    /// A new link for somebody; earlier ones stop working.
    async fn password_link(&self, scope: &Scope, user: UserId) -> Result<Invited, Problem>;
    /// `SETUP_LINK_INVALID` when used, expired or unknown.
    async fn link_owner(&self, token: &str) -> Result<LinkOwner, Problem>;
    /// Somebody with an account follows an invitation into a tenant. `SETUP_LINK_INVALID`, also for another's.
    async fn join(&self, scope: &Scope, user: UserId, token: &str) -> Result<Tenant, Problem>;
    /// Fields: name, password.
    async fn choose_password(&self, form: ChosenPassword, origin: Option<String>) -> Result<User, Problem>;
    /// Fields: old_password, new_password. All other sessions end.
    async fn change_password(&self, change: PasswordChange<'_>) -> Result<(), Problem>;
    /// The name of a session in lists; it opens nothing.
    fn session_hash(&self, session: &Id) -> String;
    /// A key for the next page's address, and what may wait in the session until then.
    fn seal(&self, text: &str) -> Result<(String, String), Problem>;
    fn unseal(&self, key: &str, sealed: &str) -> Option<String>;
}

/// In every request's extensions, put there by the server's middleware from the session.
#[derive(Clone, Debug)]
pub struct CurrentUser(pub Option<User>);

/// In the extensions of a request that came by plain http under this name: the browser will not keep a session.
#[derive(Clone, PartialEq, Debug)]
pub struct CookieTrouble(pub String);

/// In every request's extensions: whether its cookies are `Secure`.
#[derive(Clone, Copy, Debug)]
pub struct SecureCookies(pub bool);

/// The session's key for the signed-in user.
pub const SESSION_USER: &str = "user_id";
/// Characters kept of what somebody who has not signed in typed into a field.
const LONGEST_TYPED: usize = 300;
/// A place to go to, or a token, that is longer was not made by us.
const LONGEST_ADDRESS: usize = 2_000;
/// The session's key for the message to the next page.
pub const SESSION_FLASH: &str = "flash";

/// Whether the browser that asks for this page will lose its session.
pub fn cookie_trouble() -> Option<CookieTrouble> {
    use_context::<Parts>()?.extensions.get::<CookieTrouble>().cloned()
}

pub fn door() -> Door {
    expect_context::<Door>()
}

/// The user of this request.
pub fn signed_in() -> Result<User, Problem> {
    let parts = expect_context::<Parts>();
    let current = parts.extensions.get::<CurrentUser>().and_then(|c| c.0.clone());
    current.ok_or_else(|| Problem::new(ProblemCode::Unauthenticated, "Please sign in first."))
}

/// The only way to a tenant's data. Another tenant's is "not found", as if it did not exist.
pub async fn enter(slug: &str) -> Result<Visit, Problem> {
    let user = signed_in()?;
    let mut visit = door().engine.visit(user, slug).await?;
    visit.scope = visit.scope.coming_from(origin()).in_request(request_id());
    if let Some(TenantZone(zone)) = use_context() {
        zone.get_or_init(|| visit.tenant.timezone.clone());
    }
    Ok(visit)
}

/// The time zone of the tenant a page is of; none on other pages. It is known once the page has been entered.
#[derive(Clone, Default, Debug)]
pub struct TenantZone(Arc<OnceLock<String>>);

/// This moment on the tenant's clock, unless that shows UTC anyway.
pub fn on_the_tenants_clock(at: Timestamp) -> Option<String> {
    let TenantZone(zone) = use_context()?;
    let zone = zone.get().filter(|zone| *zone != "UTC")?;
    schedule::on_the_clock(at, zone)
}

/// The id under which the log has this request.
fn request_id() -> Option<String> {
    let parts = expect_context::<Parts>();
    parts.headers.get("x-request-id").and_then(|id| id.to_str().ok()).map(str::to_owned)
}

/// From where this request came, for the audit log.
pub fn origin() -> Option<String> {
    let parts = expect_context::<Parts>();
    let address = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    scope::origin(address, request_id().as_deref())
}

/// The scope of a super-admin; for anybody else the page does not exist.
pub fn governing() -> Result<(User, Scope), Problem> {
    let user = signed_in()?;
    if !user.super_admin {
        return Err(Problem::not_found("This page"));
    }
    let actor = Actor::user(&user);
    Ok((user, Scope::new(Reach::All, actor, Permission::Govern).coming_from(origin())))
}

/// Somebody acting on their own account.
pub fn oneself() -> Result<(User, Scope), Problem> {
    let user = signed_in()?;
    let actor = Actor::user(&user);
    Ok((user, Scope::new(Reach::All, actor, Permission::View).coming_from(origin())))
}

/// Leaves a secret for exactly one page: sealed in the session, its key in that page's address.
pub async fn show_once(notice: String, what: &str, text: &str, to: &str) -> Result<(), Problem> {
    let (key, sealed) = door().gate.seal(text)?;
    let mut flash = Flash::notice(notice);
    flash.values = BTreeMap::from([("sealed".to_owned(), sealed), ("what".to_owned(), what.to_owned())]);
    flash_and_redirect(flash, &format!("{to}?once={key}")).await
}

/// What [`show_once`] left for this page, when it is of this kind.
pub fn shown_once(flash: &Flash, what: &str, key: &str) -> Option<String> {
    let sealed = flash.values.get("sealed").filter(|_| flash.value("what") == what)?;
    door().gate.unseal(key, sealed)
}

/// What a form says on the page after it: good news, or a problem together with what was typed.
/// Kept in the session for exactly one page, so it works without script and survives the redirect.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Flash {
    pub notice: Option<String>,
    pub problem: Option<Problem>,
    /// The form's input, so that nothing typed is lost. Never passwords.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
}

impl Flash {
    pub fn notice(text: impl Into<String>) -> Self {
        Self { notice: Some(text.into()), ..Self::default() }
    }

    pub fn problem(problem: Problem, values: &[(&str, &str)]) -> Self {
        let values = values.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Self { problem: Some(problem), values, ..Self::default() }
    }

    pub fn value(&self, field: &str) -> String {
        self.values.get(field).cloned().unwrap_or_default()
    }

    pub fn error(&self, field: &str) -> Option<String> {
        self.problem.as_ref().and_then(|p| p.field(field))
    }
}

pub async fn session() -> Result<Session, Problem> {
    leptos_axum::extract::<Session>()
        .await
        .map_err(|_| Problem::new(ProblemCode::Internal, "There is no session for this request."))
}

/// Leaves a message for the next page and goes there.
pub async fn flash_and_redirect(mut flash: Flash, to: &str) -> Result<(), Problem> {
    // What strangers type is kept for them, but not more of it than a person types.
    if signed_in().is_err() {
        flash.values.values_mut().for_each(|value| *value = value.chars().take(LONGEST_TYPED).collect());
    }
    // Sessions are in the database: what was typed is kept there without secrets.
    let engine = door().engine;
    let secrets = &engine.config().secrets;
    for (field, value) in flash.values.iter_mut().filter(|(field, _)| *field != "sealed") {
        if secrets.hides(field) {
            value.clear();
        }
        secrets.hide_text(value);
    }
    let session = session().await?;
    session.insert(SESSION_FLASH, flash).await.map_err(session_problem)?;
    see_other(to);
    Ok(())
}

/// Back to the page behind a link. One that does not work says so by itself; nothing is kept for strangers then.
pub async fn back_to_link(flash: Flash, page: &str) -> Result<(), Problem> {
    if flash.problem.as_ref().is_some_and(|problem| problem.code == ProblemCode::SetupLinkInvalid) {
        see_other(page);
        return Ok(());
    }
    flash_and_redirect(flash, page).await
}

/// The message left for this page. The server's middleware takes it out of the session before the page is
/// rendered (a page that streams could no longer change its session).
pub fn flash() -> Flash {
    expect_context::<Parts>().extensions.get::<Flash>().cloned().unwrap_or_default()
}

pub fn session_problem(error: tower_sessions::session::Error) -> Problem {
    tracing::error!(%error, "the session cannot be read or written");
    Problem::new(ProblemCode::Unavailable, "Your session cannot be saved just now. Please try again.")
}

/// A job as it may be shown.
pub async fn read_job(visit: &Visit, number: i64) -> Result<JobDetail, Problem> {
    door().engine.job(&visit.scope, JobRef::Number(number)).await
}

/// What stands in a waiting job's way; none when it does not wait.
pub async fn why_it_waits(visit: &Visit, job: &JobDetail) -> Result<Option<Diagnosis>, Problem> {
    if job.row.status != JobStatus::Queued {
        return Ok(None);
    }
    door().engine.diagnosis(&visit.scope, JobRef::Number(job.row.number)).await.map(Some)
}

/// The files a job left behind, each with a link that works for a while.
pub async fn files_of(visit: &Visit, job: &JobDetail) -> Result<Vec<LinkedAttachment>, Problem> {
    door().engine.attachments(&visit.scope, JobRef::Number(job.row.number)).await
}

/// A problem as the answer of a server function, with its HTTP status.
pub fn refuse(problem: Problem) -> ServerFnError {
    say_status(&problem);
    ServerFnError::ServerError(problem.detail)
}

/// The status the response will have, and when to try again.
pub fn say_status(problem: &Problem) {
    let Some(response) = use_context::<ResponseOptions>() else { return };
    if let Ok(status) = StatusCode::from_u16(problem.code.status()) {
        response.set_status(status);
    }
    if let Some(seconds) = problem.retry_after_seconds {
        response.insert_header(http::header::RETRY_AFTER, seconds.into());
    }
}

/// Sends the browser to another page, as the answer to a form.
pub fn see_other(to: &str) {
    // A path that cannot be a header would take the whole request down.
    let to = if http::HeaderValue::from_str(to).is_ok() { to } else { "/" };
    leptos_axum::redirect(to);
    let parts = expect_context::<Parts>();
    let wants_page = parts.headers.get(http::header::ACCEPT).and_then(|v| v.to_str().ok());
    if let (Some(response), true) =
        (use_context::<ResponseOptions>(), wants_page.is_some_and(|v| v.contains("text/html")))
    {
        response.set_status(StatusCode::SEE_OTHER);
    }
}

/// A place on this site that a form asked to go to; anything else leads home. Browsers read `//host` and
/// `/\host` as another site.
pub fn own_path(asked: &str) -> &str {
    let ours = asked.len() <= LONGEST_ADDRESS
        && asked.starts_with('/')
        && !asked.starts_with("//")
        && asked.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    if ours { asked } else { "/" }
}

/// The address of the page behind a link, with its token as far as it can be one.
pub fn link_page(page: &str, token: &str) -> String {
    let token = if token.len() <= LONGEST_TYPED { token } else { "" };
    format!("{page}?token={}", encode(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_leads_only_to_this_site() {
        for path in ["/", "/t/acme/jobs?status=failed&q=a%20b"] {
            assert_eq!(own_path(path), path);
        }
        for path in
            ["", "t/acme", "//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nb", "/a b"]
        {
            assert_eq!(own_path(path), "/", "{path}");
        }
        assert_eq!(own_path(&format!("/{}", "x".repeat(3_000))), "/");
        assert_eq!(link_page("/invite", &"x".repeat(3_000)), "/invite?token=");
        assert_eq!(link_page("/setup", "a b"), "/setup?token=a%20b");
    }
}
