//! The lease-and-queue core.
//!
//! A job is held by one worker at a time on a *lease*. Everything a worker writes carries the lease it was
//! given and is refused once that lease is no longer the job's: that is the fence which makes a paused,
//! partitioned or killed worker harmless.
//!
//! Four rooms. [`ports`]: what is asked of a database. [`rules`]: every decision, as pure functions. [`verbs`]:
//! transactions written once for all stores, from a port's statements and the rules. [`engine`]: what pages, the
//! API, workers and the command line call; it checks permission and input.

pub mod claim_gate;
pub mod clock;
pub mod engine;
pub mod hub;
pub mod ports;
pub mod prelude;
pub mod rules;
pub mod verbs;

pub use clock::Clock;
pub use engine::{Engine, EngineConfig};
pub use hub::Hub;
pub use ports::{
    administration::{self, Administration},
    attachments::Attachments,
    audit::Audit,
    callers::{self, Callers},
    claim::ClaimJobs,
    counters::Counters,
    create::CreateJobs,
    database::Database,
    figures::{self, Figures},
    finish::FinishAttempts,
    list::ListQueries,
    logs::JobLogs,
    outbox::Outbox,
    overview::OverviewQueries,
    params, people,
    read::JobQueries,
    reclaim::ReclaimLeases,
    remote::{self, Remote},
    renew::RenewLeases,
    rights::{self, Rights},
    store::{self, Store, StoreError, StoreResult},
    triggers::Triggers,
    units::Units,
    upkeep::{self, Upkeep},
    workers::Workers,
};
pub use rules::{
    adaptive, admission, allow, arg_schema, attachments, audit, backoff, bulk, cadence, create, devices,
    diagnosis, domains, fairness,
    gate::{self, Gate},
    history, passwords, payload, progress, quota, refusals, reports,
    scope::{self, Actor, Permission, Reach, Scope},
    secrets, signing, silence, steering, tenants, throttle, transition, triggers, ttl, units,
};
pub use verbs::{
    accounts::Accounts, api_keys::ApiKeys, audit::Auditing, bulk::Bulk, definitions::Definitions,
    members::Members, password_links::PasswordLinks, providers::Providers, signing::SigningKeys,
    steering::Steering, tenants::Tenants, throttle::Throttle, triggers::TriggerChanges, users::Users,
};
