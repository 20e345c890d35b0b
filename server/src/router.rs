//! Which request goes where, and through which checks.
//!
//! Everything: request id → how it came here → security headers → allowed host → body limit → same-origin check. Then
//! health, the API with its keys, files of the site, and for the rest the session: server functions, live streams, and
//! pages behind the sign-in guard.

use crate::{
    api::{self, Api},
    assets, attachments,
    auth::{PasswordGate, middleware as door_checks},
    body::Caps,
    config::{HttpConfig, Report},
    database::{self, Database},
    functions, headers, hosts, job_files,
    metrics::{self, Exposed, Metrics},
    problem,
    rates::ApiRates,
    reached::{self, Front, Reached},
    sse::{self, Live, StreamLimits},
};
use axum::{
    Json, Router,
    body::Body,
    extract::{Request, State},
    http::{Extensions, HeaderMap, StatusCode, Version, header},
    middleware::{from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use leasehold_app::{
    pages::App,
    shell::shell,
    ssr::{Door, SecureCookies},
};
use leasehold_queue::Engine;
use leasehold_types::Problem;
use leptos::{config::LeptosOptions, context::provide_context};
use leptos_axum::{LeptosRoutes, generate_route_list_with_exclusions};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::compression::CompressionLayer;
use url::Url;

/// What is neither a page, nor a server function, nor described with the API. The tests of who may use what begin here,
/// so nothing may be routed in this file that is not in this list.
pub const FIXED: &[&str] = &[
    "/health",
    "/ready",
    "/health/ready",
    "/metrics",
    "/attachments/{id}",
    "/api/openapi.json",
    "/api/docs",
    "/do/{*function}",
    "/t/{slug}/live",
    "/t/{slug}/jobs/{number}/{file}",
];

pub struct Serving {
    pub engine: Arc<Engine>,
    pub database: Database,
    pub public_url: Option<Url>,
    pub http: HttpConfig,
    /// Cancelled when the server is about to end: not ready any more, and live streams end.
    pub ending: CancellationToken,
    pub report: Arc<Report>,
    pub metrics: Arc<Metrics>,
    pub streams: StreamLimits,
}

pub fn router(serving: Serving) -> Router {
    // One count of open streams for pages and the API.
    let figures = serving.metrics.process.clone();
    let live = Live::new(
        serving.engine.clone(),
        serving.database.clone(),
        figures,
        serving.streams,
        serving.ending.clone(),
    );
    let site = Site::new(&serving, &live);
    let (engine, ending) = (serving.engine.clone(), serving.ending.clone());
    let http = &serving.http;
    let rates = Arc::new(ApiRates::new(http.per_key, http.per_address, serving.metrics.process.clone()));
    let api = Api { engine, ending, report: serving.report.clone(), live, rates };
    let front = Front {
        proxies: http.proxies.clone(),
        public_url: serving.public_url.clone(),
        insecure_cookies: http.insecure_cookies,
    };
    let caps = Caps::of_engine(serving.engine.config());
    let exposed = Exposed {
        metrics: serving.metrics.clone(),
        engine: serving.engine.clone(),
        rates: api.rates.clone(),
    };
    let api::Described { router: routes, description } = api::routes(&api);
    let docs = api::docs::page(&description);
    let ready = Ready { database: serving.database.clone(), ending: serving.ending };
    let database = from_fn_with_state(serving.database, database::answers);
    Router::new()
        .route("/health", get(|| async { Json(json!({"status": "ok"})) }))
        .route("/ready", get(is_ready))
        .route("/health/ready", get(is_ready))
        .with_state(ready)
        .route(
            "/attachments/{id}",
            get(attachments::download).with_state(serving.engine.clone()).layer(database.clone()),
        )
        .merge(metrics::routes(exposed).layer(smaller()))
        .merge(routes.layer(smaller()).layer(database))
        .route("/api/openapi.json", get(async move || Json(description.clone())).layer(smaller()))
        .route("/api/docs", get(async move || docs.clone()).layer(smaller()))
        .fallback(move |request| site.clone().answer(request))
        .layer(from_fn(door_checks::same_origin))
        .layer(from_fn_with_state(caps, headers::limit_body))
        .layer(from_fn_with_state(Arc::new(http.hosts.clone()), hosts::check))
        .layer(from_fn(headers::secure))
        .layer(from_fn_with_state(Arc::new(front), reached::find_out))
        .layer(from_fn_with_state(serving.engine.clone(), headers::observe))
        .layer(from_fn_with_state(serving.metrics.process.clone(), metrics::count_requests))
}

#[derive(Clone)]
struct Ready {
    database: Database,
    ending: CancellationToken,
}

async fn is_ready(State(ready): State<Ready>) -> Response {
    let reachable = !ready.ending.is_cancelled() && ready.database.is_ready().await;
    if reachable {
        return Json(json!({"status": "ready"})).into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "not_ready"}))).into_response()
}

/// The same pages twice, because the session cookie's name and `Secure` differ with how the browser came here.
#[derive(Clone)]
struct Site {
    with_plain_cookie: Router,
    with_secure_cookie: Router,
}

impl Site {
    fn new(serving: &Serving, live: &Live) -> Self {
        let pages = pages(serving, live.clone());
        let with_cookie = |secure| {
            let sessions = door_checks::sessions(serving.engine.clone(), secure);
            let database = from_fn_with_state(serving.database.clone(), database::answers);
            pages.clone().layer(sessions).layer(smaller()).layer(database)
        };
        Self { with_plain_cookie: with_cookie(false), with_secure_cookie: with_cookie(true) }
    }

    async fn answer(self, mut request: Request) -> Response {
        let path = request.uri().path();
        if let Some(file) = assets::respond(request.method(), path, request.headers()) {
            return file;
        }
        if path == "/api" || path.starts_with("/api/") || path.starts_with("/pkg/") {
            return problem::respond(&Problem::not_found("This address"));
        }
        let plain = request.extensions().get::<Reached>().is_some_and(|reached| reached.plain_cookie);
        let site = if plain { self.with_plain_cookie } else { self.with_secure_cookie };
        request.extensions_mut().insert(SecureCookies(!plain));
        site.oneshot(request).await.into_response()
    }
}

type Worth = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

fn smaller() -> CompressionLayer<Worth> {
    CompressionLayer::new().compress_when(is_worth_compressing as Worth)
}

/// Pages, figures, and what islands and programs ask for. Never live streams: a compressor would hold their events back.
fn is_worth_compressing(status: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(|v| v.as_bytes()).unwrap_or_default();
    let worth: [&[u8]; 4] =
        [b"text/html", b"application/json", b"text/plain; version", b"application/openmetrics-text"];
    status.is_success() && worth.iter().any(|start| kind.starts_with(start))
}

fn pages(serving: &Serving, live: Live) -> Router {
    let engine = serving.engine.clone();
    let public_url = serving.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/').into());
    let door = Door { engine: engine.clone(), gate: Arc::new(PasswordGate::new(engine.clone())), public_url };
    let lend = move || provide_context(door.clone());
    let options = LeptosOptions::builder().output_name("leasehold").site_root("target/site").build();
    let document = {
        let options = options.clone();
        move || shell(options.clone())
    };
    let not_found = leptos_axum::render_app_async_with_context(lend.clone(), document.clone());
    // The framework would route functions by itself, around what `functions` sees to.
    let routes = generate_route_list_with_exclusions(App, Some(functions::paths().collect()));
    let views = Router::new()
        .leptos_routes_with_context(&options, routes, lend.clone(), document)
        .fallback(async move |request: Request<Body>| door_checks::as_not_found(not_found(request).await))
        .with_state(options)
        .route("/t/{slug}/jobs/{number}/{file}", get(job_files::download).with_state(engine.clone()))
        .layer(from_fn(door_checks::take_flash))
        .layer(from_fn_with_state(engine.clone(), door_checks::guard));
    let functions = any(move |request| functions::call(lend.clone(), request));
    Router::new()
        .route("/do/{*function}", functions)
        .route("/t/{slug}/live", get(sse::live).with_state(live))
        .merge(views)
        .layer(from_fn_with_state(engine, door_checks::load_user))
}
