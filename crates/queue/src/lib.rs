//! The lease-and-queue core.
//!
//! A job is held by one worker at a time on a *lease*. Everything a worker writes carries the lease it was
//! given and is refused once that lease is no longer the job's: that is the fence which makes a paused,
//! partitioned or killed worker harmless. Decisions live here as pure functions ([`transition`], [`backoff`],
//! [`progress`]); a [`store::Store`] only persists them, each verb in one transaction. Pages, the API, workers
//! and the command line all go through [`engine::Engine`]; nothing else writes the tables.

pub mod adaptive;
pub mod administration;
pub mod admission;
pub mod allow;
pub mod arg_schema;
pub mod attachments;
pub mod audit;
pub mod backoff;
pub mod cadence;
pub mod callers;
pub mod claim_gate;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod devices;
pub mod diagnosis;
pub mod domains;
pub mod engine;
pub mod fairness;
pub mod figures;
pub mod gate;
pub mod history;
pub mod hub;
pub mod params;
pub mod passwords;
pub mod payload;
pub mod people;
pub mod progress;
pub mod quota;
pub mod refusals;
pub mod remote;
pub mod reports;
pub mod rights;
pub mod scope;
pub mod secrets;
pub mod signing;
pub mod silence;
pub mod store;
pub mod throttle;
pub mod transition;
pub mod triggers;
pub mod units;
pub mod upkeep;

pub use administration::Administration;
pub use attachments::Attachments;
pub use audit::Audit;
pub use callers::Callers;
pub use clock::Clock;
pub use engine::{Engine, EngineConfig};
pub use figures::Figures;
pub use gate::Gate;
pub use hub::Hub;
pub use people::People;
pub use remote::Remote;
pub use rights::Rights;
pub use scope::{Actor, Permission, Reach, Scope};
pub use store::{Store, StoreError, StoreResult};
pub use throttle::Throttle;
pub use triggers::Triggers;
pub use units::Units;
pub use upkeep::Upkeep;
