//! The words of Leasehold, shared by the server, the stores, the workers and the browser.
//!
//! Nothing here decides or persists anything: ids, states, the views pages show, filters, problems
//! and live events. It compiles to wasm, so keep it free of everything but serde, uuid and time.

pub mod browse;
pub mod duration;
pub mod filter;
pub mod id;
pub mod limits;
pub mod live;
pub mod people;
pub mod problem;
pub mod stage;
pub mod state;
pub mod text;
pub mod timestamp;
pub mod trigger;
pub mod unit;
pub mod view;

pub use filter::{JobFilter, Page, PageRequest, PayloadMatch};
pub use id::{
    AttachmentId, DefinitionId, JobId, JobRef, KeyId, LeaseId, TenantId, TriggerId, UserId, WorkerId,
};
pub use limits::{DefinitionLimits, KeyMode, TenantLimits};
pub use live::{LiveEvent, LiveKind};
pub use problem::{FieldError, Problem, ProblemCode};
pub use stage::Stage;
pub use state::{AttemptOutcome, ErrorClass, JobStatus, LogStream, Role, Source};
pub use timestamp::Timestamp;
pub use trigger::{AppEvent, CatchUp, FiringOutcome, FiringView, Trigger, TriggerKind, TriggerRule};
pub use unit::{UnitKind, UnitState};
