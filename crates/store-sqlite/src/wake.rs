//! Wake-ups inside this process, sent after the commit. Other processes on the same file find out by polling:
//! SQLite has no way to tell them.

use leasehold_queue::params::Wake;
use tokio::sync::broadcast;

/// A receiver that falls this far behind re-queries, which is all a wake-up asks for.
const BUFFERED: usize = 256;

#[derive(Clone)]
pub(crate) struct Bell(broadcast::Sender<Wake>);

impl Default for Bell {
    fn default() -> Self {
        Self(broadcast::channel(BUFFERED).0)
    }
}

impl Bell {
    pub fn ring(&self, wake: Wake) {
        // Nobody waiting is fine.
        let _ = self.0.send(wake);
    }

    pub fn listen(&self) -> broadcast::Receiver<Wake> {
        self.0.subscribe()
    }
}
