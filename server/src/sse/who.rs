//! Who reads a stream.

use leasehold_app::ssr::Visit;
use leasehold_queue::Scope;

pub enum Who {
    Session { visit: Box<Visit>, session: String },
    Key { scope: Scope },
}

impl Who {
    pub fn scope(&self) -> &Scope {
        match self {
            Self::Session { visit, .. } => &visit.scope,
            Self::Key { scope } => scope,
        }
    }

    /// Whose places are counted together.
    pub fn holder(&self) -> String {
        match self {
            Self::Session { session, .. } => session.clone(),
            Self::Key { scope } => scope.actor.to_string(),
        }
    }
}
