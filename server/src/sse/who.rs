//! Who reads a stream.

use super::limits::Holder;
use leasehold_queue::{Scope, engine::Visit};

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

    pub fn holder(&self) -> Holder {
        match self {
            Self::Session { session, .. } => Holder::Session(session.clone()),
            Self::Key { scope } => Holder::Key(scope.actor.to_string()),
        }
    }
}
