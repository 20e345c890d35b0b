//! The course of one attempt of a composite job: claim units, begin their calls, take in what comes back, until the job
//! is done. Everything that must survive is in the database before the next step.

use super::{
    Composite, Kit, News,
    call::{Call, Ended, Sign},
    patience::ask,
};
use crate::executor::{Ctx, End, failure};
use leasehold_queue::{
    params::ClaimedJob,
    transition::Failure,
    units::{
        ClaimedUnits, Standing, UnitAnswer, UnitClaim, UnitError, UnitFinish, UnitOutcome, UnitResult,
        WorkUnit,
        assign::ELSEWHERE,
        retry::{self, Next},
    },
};
use leasehold_types::{ErrorClass, Timestamp};
use serde_json::Value;
use std::time::Duration;
use tokio::{sync::mpsc, task::JoinSet, time::sleep};

/// Calls of one job at a time, whatever its providers would allow.
const AT_ONCE: usize = 32;

pub struct Drive<'a, C> {
    kit: &'a Kit,
    job: &'a ClaimedJob,
    ctx: &'a Ctx,
    composite: C,
    standing: Standing,
    calls: JoinSet<Ended>,
    signs: (mpsc::UnboundedSender<Sign>, mpsc::UnboundedReceiver<Sign>),
    /// Some units are for a provider that only other workers know. They count as begun until the job changes hands.
    elsewhere: Option<UnitError>,
}

/// What a claim brought.
struct Claimed {
    /// Units that were not begun before.
    any: bool,
    ask_again_at: Option<Timestamp>,
}

impl<'a, C: Composite> Drive<'a, C> {
    pub fn new(kit: &'a Kit, job: &'a ClaimedJob, ctx: &'a Ctx) -> Self {
        Self {
            kit,
            job,
            ctx,
            composite: C::default(),
            standing: Standing::default(),
            calls: JoinSet::new(),
            signs: mpsc::unbounded_channel(),
            elsewhere: None,
        }
    }

    pub async fn run(mut self) -> Result<Value, End> {
        self.begin().await?;
        while !self.composite.done() {
            let claimed = self.claim().await?;
            if retry::next(self.composite.done(), self.standing) == Next::Stuck {
                let message = "The job is not done, and no unit is left that could bring it further.";
                return Err(failure("stuck", ErrorClass::InternalBug, message).into());
            }
            if let Some(error) = self.only_elsewhere(&claimed) {
                return Err(End::Snoozed(self.kit.handed_back.snooze(self.job.lease.number, error)));
            }
            self.wait(claimed.ask_again_at).await?;
        }
        // The last word is not one from before the last unit.
        self.composite.report(self.ctx, News::Counted(self.standing));
        Ok(self.composite.result())
    }

    /// Everything this worker can do is done, and what is left needs a provider of another: whoever claims the job next
    /// finds its units as they are.
    fn only_elsewhere(&self, claimed: &Claimed) -> Option<&UnitError> {
        let idle = !claimed.any && claimed.ask_again_at.is_none() && self.calls.is_empty();
        self.elsewhere.as_ref().filter(|_| idle)
    }

    /// From what an earlier attempt left, or from the start.
    async fn begin(&mut self) -> Result<(), Failure> {
        if let Some(state) = &self.job.checkpoint {
            self.composite = serde_json::from_value(state.clone()).map_err(|error| {
                let message = format!("What an earlier attempt left cannot be read: {error}.");
                failure("unreadable_state", ErrorClass::InternalBug, message)
            })?;
            return Ok(());
        }
        let units = self.composite.start(self.job, self.ctx).await?;
        let state = self.state()?;
        let (engine, lease) = (&self.kit.engine, &self.job.lease);
        // Already there: it was this very attempt that wrote them, before the connection broke.
        match ask(|| engine.add_units(lease, units.clone(), state.clone())).await? {
            UnitAnswer::Applied | UnitAnswer::AlreadyDone => Ok(()),
            UnitAnswer::Lost => self.lost().await,
        }
    }

    fn state(&self) -> Result<Value, Failure> {
        serde_json::to_value(&self.composite).map_err(|error| {
            let message = format!("The job's state cannot be written: {error}.");
            failure("unwritable_state", ErrorClass::InternalBug, message)
        })
    }

    /// Begins what may begin.
    async fn claim(&mut self) -> Result<Claimed, Failure> {
        let free = AT_ONCE.saturating_sub(self.calls.len());
        if free == 0 {
            return Ok(Claimed { any: false, ask_again_at: None });
        }
        let claim = UnitClaim {
            lease: self.job.lease.clone(),
            callable: self.kit.providers.names(),
            at_most: u32::try_from(free).unwrap_or(1),
            lead: self.kit.lead.get(),
        };
        let Some(claimed) = ask(|| self.kit.engine.claim_units(&claim)).await? else {
            return self.lost().await;
        };
        let ClaimedUnits { units, ask_again_at, standing } = claimed;
        self.standing = standing;
        self.composite.report(self.ctx, News::Counted(standing));
        let any = !units.is_empty();
        let mut refused = Vec::new();
        for claimed in units {
            match claimed.turn.clone() {
                Ok(turn) => {
                    let call = self.call(&turn.provider);
                    self.calls.spawn(call.run(claimed, turn));
                }
                Err(error) if error.code == ELSEWHERE => self.elsewhere = Some(error),
                Err(error) => refused.push((claimed, error)),
            }
        }
        for (claimed, error) in refused {
            self.finish(Ended { claimed, outcome: Err(error) }).await?;
        }
        Ok(Claimed { any, ask_again_at })
    }

    fn call(&self, provider: &str) -> Call {
        Call {
            engine: self.kit.engine.clone(),
            lead: self.kit.lead.clone(),
            lease: self.job.lease.clone(),
            provider: self.kit.providers.get(provider),
            signs: self.signs.0.clone(),
        }
    }

    /// Until a call has ended, or it is time to ask again.
    async fn wait(&mut self, ask_again_at: Option<Timestamp>) -> Result<(), Failure> {
        if self.calls.is_empty() && ask_again_at.is_none() {
            return Ok(());
        }
        let pause = ask_again_at.map(|at| at.micros() - self.kit.engine.now().micros());
        let pause = pause.map(|micros| Duration::from_micros(u64::try_from(micros).unwrap_or(0)));
        let asleep = async {
            match pause {
                // A little, in any case: whatever the clocks say, it must not become a race.
                Some(pause) => sleep(pause.max(Duration::from_millis(2))).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(asleep);
        loop {
            tokio::select! {
                Some(ended) = self.calls.join_next() => {
                    return self.take_in(ended.map_err(|error| broken(&error))?).await;
                }
                Some(sign) = self.signs.1.recv() => self.composite.report(self.ctx, match sign {
                    Sign::Begins => News::Sending,
                    Sign::Hears(characters) => News::Hearing(characters),
                }),
                () = &mut asleep => return Ok(()),
            }
        }
    }

    /// Another try, or the end of the unit.
    async fn take_in(&mut self, ended: Ended) -> Result<(), Failure> {
        let wait = match (&ended.outcome, &ended.claimed.turn) {
            (Err(error), Ok(turn)) => retry::wait_before_retry(turn, ended.claimed.attempts, error),
            _ => None,
        };
        match (wait, &ended.outcome) {
            (Some(wait), Err(error)) => {
                let (engine, lease, id) = (&self.kit.engine, &self.job.lease, ended.claimed.unit.id);
                let error = self.clean(error);
                self.ctx.note(format!("{}: {} Trying again.", ended.claimed.unit.name, error.message));
                match ask(|| engine.retry_unit(lease, id, &error, wait)).await? {
                    true => Ok(()),
                    false => self.lost().await,
                }
            }
            _ => self.finish(ended).await,
        }
    }

    async fn finish(&mut self, ended: Ended) -> Result<(), Failure> {
        let Ended { claimed, outcome } = ended;
        let mut outcome: UnitOutcome = outcome.map_err(|error| self.clean(&error));
        if let Ok(answer) = &mut outcome {
            self.ctx.redactor.json(answer);
        }
        let provider = claimed.turn.ok().map(|turn| turn.provider);
        let unit = claimed.unit.id;
        let result = UnitResult { unit: claimed.unit, provider, attempts: claimed.attempts, outcome };
        let follow_ups: Vec<WorkUnit> = self.composite.on_complete(self.ctx, &result).await?;
        let (lease, state) = (self.job.lease.clone(), self.state()?);
        let finish = UnitFinish { lease, unit, outcome: result.outcome, follow_ups, state };
        // Finished already: it was this very attempt, before the connection broke.
        match ask(|| self.kit.engine.finish_unit(finish.clone())).await? {
            UnitAnswer::Applied | UnitAnswer::AlreadyDone => Ok(()),
            UnitAnswer::Lost => self.lost().await,
        }
    }

    /// What a provider said may repeat what it was told.
    fn clean(&self, error: &UnitError) -> UnitError {
        UnitError { message: self.ctx.redactor.text(&error.message).into_owned(), ..error.clone() }
    }

    /// The job belongs to somebody else: nothing is left to do but to be stopped.
    async fn lost<T>(&self) -> Result<T, Failure> {
        self.ctx.stopped().await;
        Err(failure("lease_lost", ErrorClass::WorkerLost, "The lease was lost."))
    }
}

fn broken(error: &tokio::task::JoinError) -> Failure {
    tracing::error!(%error, "a provider's call panicked");
    failure(
        "provider_panic",
        ErrorClass::InternalBug,
        "A provider's code panicked. The worker's log has more.",
    )
}
