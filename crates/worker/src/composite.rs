//! Composite jobs: a job that makes many calls to providers, and decides by their answers which calls come next.
//!
//! A [`Composite`] is a value that can be written down. It names its first units, hears of each that ends and names
//! those that follow; after every one it is saved together with the unit. A later attempt reads it back and goes on,
//! so it must keep everything it wants to remember in its own fields.
//!
//! ```
//! # use async_trait::async_trait;
//! # use leasehold_queue::{params::ClaimedJob, transition::Failure, units::{UnitResult, WorkUnit}};
//! # use leasehold_types::unit::UnitKind;
//! # use leasehold_worker::{Ctx, composite::Composite};
//! # use serde::{Deserialize, Serialize};
//! # use serde_json::{Value, json};
//! /// Asks three times and keeps what was said.
//! #[derive(Serialize, Deserialize, Default)]
//! struct Chorus {
//!     said: Vec<Value>,
//! }
//!
//! #[async_trait]
//! impl Composite for Chorus {
//!     async fn start(&mut self, _: &ClaimedJob, _: &Ctx) -> Result<Vec<WorkUnit>, Failure> {
//!         let ask = |n| WorkUnit::new(UnitKind::Llm, format!("Voice {n}"), json!({"messages": []}));
//!         Ok((1..=3).map(ask).collect())
//!     }
//!     async fn on_complete(&mut self, _: &Ctx, result: &UnitResult) -> Result<Vec<WorkUnit>, Failure> {
//!         self.said.push(result.outcome.clone().unwrap_or_default());
//!         Ok(Vec::new())
//!     }
//!     fn done(&self) -> bool {
//!         self.said.len() == 3
//!     }
//!     fn status(&self) -> String {
//!         format!("{} voices heard", self.said.len())
//!     }
//!     fn result(&self) -> Value {
//!         json!(self.said)
//!     }
//! }
//! ```

mod ai;
mod book;
mod call;
mod drive;
mod elsewhere;
mod patience;

use crate::{
    executor::{Ctx, End, Executor, Outcome, Registry},
    providers::ProviderBook,
};
use async_trait::async_trait;
use drive::Drive;
use leasehold_queue::{
    Engine,
    params::{ClaimedJob, NewDefinition},
    progress::ProgressReport,
    transition::Failure,
    units::{Standing, UnitResult, WorkUnit},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{marker::PhantomData, sync::Arc};

#[async_trait]
pub trait Composite: Serialize + DeserializeOwned + Default + Send + Sync + 'static {
    /// The first units, asked for once in a job's life. None at all is fine: then [`Composite::done`] is asked next.
    async fn start(&mut self, job: &ClaimedJob, ctx: &Ctx) -> Result<Vec<WorkUnit>, Failure>;

    /// Hears of a unit that has come to its end, well or badly, one at a time; returns the units that follow. An error
    /// here is the job's. If the job changes hands before the unit is saved, it runs again and is told again.
    async fn on_complete(&mut self, ctx: &Ctx, result: &UnitResult) -> Result<Vec<WorkUnit>, Failure>;

    /// All work is finished. Units that still wait are dropped then.
    fn done(&self) -> bool;

    /// Where it stands, in a few words for people.
    fn status(&self) -> String;

    /// The job's result once it is done.
    fn result(&self) -> Value;

    /// Tells people how far it is: finished units of all there are so far, unless the job knows better.
    fn report(&self, ctx: &Ctx, news: News) {
        let News::Counted(standing) = news else { return };
        let percent = (standing.finished * 100).checked_div(standing.total()).unwrap_or(0);
        let report = ProgressReport {
            stage: None,
            // A hundred is for the end.
            percent: Some(i16::try_from(percent.min(99)).unwrap_or(99)),
            message: Some(self.status()),
        };
        // Without a stage there is nothing to refuse.
        let _ = ctx.progress(report);
    }
}

/// What has just happened to a composite job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    Counted(Standing),
    /// A call begins.
    Sending,
    /// So many characters of an answer are there.
    Hearing(usize),
}

/// What every composite job of a process needs.
#[derive(Clone)]
pub struct Kit {
    engine: Arc<Engine>,
    providers: Arc<ProviderBook>,
    lead: Arc<call::Lead>,
    handed_back: Arc<elsewhere::HandedBack>,
}

impl Kit {
    pub fn new(engine: Arc<Engine>, providers: Arc<ProviderBook>) -> Self {
        Self { engine, providers, lead: Arc::default(), handed_back: Arc::default() }
    }
}

/// Runs one kind of composite job.
pub struct CompositeExecutor<C> {
    kit: Kit,
    kind: PhantomData<fn() -> C>,
}

impl<C: Composite> CompositeExecutor<C> {
    pub fn new(kit: Kit) -> Self {
        Self { kit, kind: PhantomData }
    }
}

#[async_trait]
impl<C: Composite> Executor for CompositeExecutor<C> {
    async fn run(&self, job: &ClaimedJob, ctx: &Ctx) -> Outcome {
        // Whatever stops the job stops its calls: they are dropped with this future.
        tokio::select! {
            ended = Drive::<C>::new(&self.kit, job, ctx).run() => match ended {
                Ok(result) => Outcome::completed(Some(result)),
                Err(end) => Outcome::of(end),
            },
            _ = ctx.stopped() => Outcome::of(End::Stopped),
        }
    }
}

/// The definitions of the composite jobs that are built in.
pub fn definitions() -> Vec<NewDefinition> {
    vec![ai::definition(), book::definition()]
}

/// Registers the composite jobs that are built in.
pub fn register(registry: &mut Registry, kit: &Kit) {
    let (ai, book) = (ai::definition(), book::definition());
    registry.register(ai.domain, ai.job_type, Arc::new(CompositeExecutor::<ai::Ai>::new(kit.clone())));
    registry.register(
        book.domain,
        book.job_type,
        Arc::new(CompositeExecutor::<book::Book>::new(kit.clone())),
    );
}
