//! `leasehold audit list` and `verify`.

use super::{
    Out, terminal,
    text::{Style, Table},
};
use crate::{config::Config, store};
use clap::Subcommand;
use leasehold_types::{
    PageRequest, Problem, ProblemCode,
    people::{AuditEntry, AuditFilter},
};
use serde_json::json;

#[derive(Subcommand)]
pub enum Audit {
    /// The newest acts.
    List {
        /// Only of this tenant.
        #[arg(long, value_name = "SLUG")]
        tenant: Option<String>,
        /// Part of the actor's name.
        #[arg(long)]
        actor: Option<String>,
        /// The beginning of the action, like `key.` or `job.cancel`.
        #[arg(long)]
        action: Option<String>,
        /// Only acts before this id.
        #[arg(long, value_name = "ID")]
        before: Option<i64>,
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Walk the chain of hashes; fails at the first act that is not as it was written.
    Verify,
}

impl Audit {
    pub async fn run(self, config: Config, out: Out) -> Result<(), Problem> {
        let engine = store::engine(&config).await?;
        let scope = terminal();
        match self {
            Self::List { tenant, actor, action, before, limit } => {
                let scope = match tenant {
                    Some(slug) => scope.within(engine.tenant(&scope, &slug).await?.id),
                    None => scope,
                };
                let filter = AuditFilter { actor, action };
                let page = engine.audit_entries(&scope, &filter, PageRequest { before, limit }).await?;
                let text = in_words(&page.items, Style::of_stdout());
                out.say(&text, &json!({"entries": page.items, "next": page.next}));
            }
            Self::Verify => {
                let state = engine.verify_audit(&scope).await?;
                if let Some(broken) = state.broken {
                    let detail = format!(
                        "The audit log is broken at #{}: {} It is intact up to #{}.",
                        broken.position, broken.what, state.intact_up_to
                    );
                    return Err(Problem::new(ProblemCode::Internal, detail));
                }
                let text = format!(
                    "The audit log is intact up to #{}; {} acts wait to be chained.",
                    state.intact_up_to, state.waiting
                );
                out.say(&text, &json!(state));
            }
        }
        Ok(())
    }
}

fn in_words(entries: &[AuditEntry], style: Style) -> String {
    let mut table = Table::new(["Position", "When", "Who", "Action", "Object", "Reason", "From"]);
    for entry in entries {
        let position = entry.position.map_or_else(|| "waiting".to_owned(), |n| format!("#{n}"));
        let object = format!("{} {}", entry.object_type, entry.object_id);
        table.row([
            position.into(),
            entry.created_at.to_string().into(),
            (&entry.actor).into(),
            (&entry.action).into(),
            object.into(),
            entry.reason.as_deref().unwrap_or_default().into(),
            entry.origin.as_deref().unwrap_or_default().into(),
        ]);
    }
    table.text(style.paint, "Nothing has been done yet.")
}
