//! From an exit code to an outcome. The exit code decides; `::error` only gives the failure its name.

use super::{
    output::{Given, Output},
    process::Exit,
};
use crate::executor::{Ctx, Outcome, RESULT_TOO_LARGE, failure, result_not_kept};
use leasehold_queue::transition::Failure;
use leasehold_types::ErrorClass;

pub fn judge(exit: Option<Exit>, output: &Output<'_>, ctx: &Ctx) -> Outcome {
    match exit.unwrap_or(Exit::Unknown) {
        Exit::Code(0) => match output.result() {
            None => Outcome::completed(None),
            Some(Given::Value(value)) => Outcome::completed(Some(value)),
            Some(Given::TooLarge) => {
                let message =
                    format!("The result has more than the {} bytes that are allowed.", ctx.max_json_bytes);
                Outcome::failed(result_not_kept(RESULT_TOO_LARGE, message))
            }
        },
        Exit::Code(code) => {
            let plain = format!("The program ended with exit code {code}.");
            Outcome::failed(named(&format!("exit_{code}"), plain, output, ctx))
        }
        Exit::Signal(signal) => {
            let plain = format!("The program was ended by signal {signal}.");
            Outcome::failed(named(&format!("signal_{signal}"), plain, output, ctx))
        }
        Exit::Refused(why) => {
            let message = format!("The program could not be started: {why}.");
            Outcome::failed(failure("spawn_failed", ErrorClass::DependencyUnavailable, message))
        }
        Exit::Unknown => {
            let message = "The program's guardian was killed; the program was ended with it.";
            Outcome::failed(failure("guardian_lost", ErrorClass::ResourceExhausted, message))
        }
    }
}

/// What the program said about itself goes before what can be told from outside.
fn named(code: &str, plain: String, output: &Output<'_>, ctx: &Ctx) -> Failure {
    let said = output.error().unwrap_or_default();
    let message = if said.message.is_empty() {
        output.last_words().unwrap_or(plain)
    } else {
        ctx.redactor.text(&said.message).into_owned()
    };
    Failure {
        error_code: said.error_code.or_else(|| Some(code.to_owned())),
        error_class: said.error_class.or(Some(ErrorClass::CommandFailed)),
        message,
        ..said
    }
}
