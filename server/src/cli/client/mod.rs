//! Commands that talk to a server over its API: `LEASEHOLD_URL` says where, `LEASEHOLD_API_KEY` opens the door.
//!
//! Every command is one [`Call`], which is either sent or, with `--curl`, printed as the line that would send it. Exit
//! codes: 0 fine, 1 the server refused or could not be reached, 2 the command line makes no sense; `jobs tail` also says
//! how the job ended.

mod call;
mod curl;
mod definitions;
mod enqueue;
mod jobs;
mod operations;
mod screen;
mod show;
mod sweeps;
mod tail;

use super::{Out, failed, text::Style};
use call::{Call, Server};
use clap::Args;
pub use definitions::{Definitions, definition_text, definitions_text};
pub use enqueue::Enqueue;
pub use jobs::Jobs;
use leasehold_types::{Problem, ProblemCode};
pub use operations::Operations;
use serde_json::Value;
use std::process::ExitCode;
pub use sweeps::{ArchiveMeta, Prune, Ttl};

/// Where to, and how.
#[derive(Args, Clone)]
pub struct Target {
    /// The server's address.
    #[arg(long, env = "LEASEHOLD_URL", default_value = "http://127.0.0.1:3000", value_name = "URL")]
    url: String,
    /// Act inside this tenant; for keys of the whole installation.
    #[arg(long, value_name = "SLUG")]
    tenant: Option<String>,
    /// Print the curl line that does the same, and do nothing.
    #[arg(long)]
    curl: bool,
}

/// How an answer is shown to people.
type Show = fn(&Value, Style) -> String;

/// Sends the call, or prints it; shows the answer.
fn run(target: &Target, call: Call, out: Out, show: Show) -> ExitCode {
    if target.curl {
        out.line(&curl::line(target, &call));
        return ExitCode::SUCCESS;
    }
    let work = async {
        out.say_answer(&Server::new(target)?.send(&call).await?, show);
        Ok(())
    };
    ended(out, blocking(work))
}

fn blocking<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| failed("start", error))?;
    runtime.block_on(work)
}

fn ended(out: Out, result: Result<(), Problem>) -> ExitCode {
    ended_with(out, result.map(|()| ExitCode::SUCCESS))
}

fn ended_with(out: Out, result: Result<ExitCode, Problem>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(mut problem) => {
            if problem.code == ProblemCode::ConfirmationRequired {
                problem.detail =
                    "This cannot be undone: add --yes if you mean it. Nothing was changed.".to_owned();
            }
            out.fail(&problem);
            // What is missing on our side is a matter of usage.
            ExitCode::from(if problem.field(call::KEY).is_some() { 2 } else { 1 })
        }
    }
}

impl Out {
    fn line(self, text: &str) {
        self.say_text(text);
    }

    fn say_answer(self, answer: &Value, show: Show) {
        self.say(&show(answer, Style::of_stdout()), answer);
    }
}
