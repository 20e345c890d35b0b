//! Work that computes instead of waiting. It runs on a thread of its own, so that renewals and everything else of the
//! process go on; what it tells of its progress is passed on, and it hears when it should stop.

use crate::executor::{Ctx, Halt, failure};
use leasehold_types::ErrorClass;
use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::watch, task};

/// The part of a stage's span that one piece of work covers: the `index`-th of `of` equal ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    pub index: usize,
    pub of: usize,
}

impl Share {
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    fn fraction(self, done: f64) -> f64 {
        (self.index as f64 + done) / self.of.max(1) as f64
    }
}

/// The thread's side.
pub struct Meter {
    done: watch::Sender<f64>,
    stop: Arc<AtomicBool>,
}

impl Meter {
    /// Says how far the work is; `Break` means stop. Cheap: call it as often as you like.
    pub fn tell(&self, done: usize, total: usize) -> ControlFlow<()> {
        self.done.send_replace(done as f64 / total.max(1) as f64);
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Tells the thread to stop when nobody waits for it any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` on a thread for blocking work and moves the bar within its share of the stage.
pub async fn on_a_thread<T: Send + 'static>(
    ctx: &Ctx,
    stage: &str,
    share: Share,
    work: impl FnOnce(&Meter) -> T + Send + 'static,
) -> Result<T, Halt> {
    let (done, mut heard) = watch::channel(0.0);
    let stop = StopOnDrop(Arc::default());
    let meter = Meter { done, stop: stop.0.clone() };
    let mut thread = task::spawn_blocking(move || work(&meter));
    let mut asked = false;
    let ended = loop {
        tokio::select! {
            ended = &mut thread => break ended,
            Ok(()) = heard.changed() => {
                let done = *heard.borrow_and_update();
                // The stage was begun by its name, so it is known.
                let _ = ctx.progress_within(stage, share.fraction(done));
            }
            _ = ctx.stopped(), if !asked => {
                asked = true;
                stop.0.store(true, Ordering::Relaxed);
            }
        }
    };
    ended.map_err(|error| {
        let message = format!("A computing thread ended early: {error}.");
        Halt::Failed(failure("panic", ErrorClass::InternalBug, message))
    })
}
