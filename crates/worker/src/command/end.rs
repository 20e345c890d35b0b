//! From an exit code to an outcome. The exit code decides; `::error` only gives the failure its name.

use super::{
    output::{Given, Output},
    process::Exit,
};
use crate::{
    commands::{CommandSpec, in_words},
    executor::{Ctx, Outcome, RESULT_TOO_LARGE, failure, result_not_kept},
    guard::Limit,
};
use leasehold_queue::transition::Failure;
use leasehold_types::ErrorClass;
use nix::sys::signal::Signal;

pub fn judge(exit: Option<Exit>, spec: &CommandSpec, output: &Output<'_>, ctx: &Ctx) -> Outcome {
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
        Exit::OverLimit(limit) => Outcome::failed(over_limit(limit, spec, None)),
        Exit::Code(code) => {
            let plain = format!("The program ended with exit code {code}.");
            // A shell tells in this way which signal ended its own program.
            let kernels = limit_of_signal(code - 128).filter(|_| code > 128);
            Outcome::failed(unsuccessful(&format!("exit_{code}"), plain, kernels, spec, output, ctx))
        }
        Exit::Signal(signal) => {
            let plain = format!("The program was ended by signal {signal}.");
            let kernels = limit_of_signal(signal);
            Outcome::failed(unsuccessful(&format!("signal_{signal}"), plain, kernels, spec, output, ctx))
        }
        Exit::Refused(why) => Outcome::failed(not_started(spec, &why)),
        Exit::Unknown => {
            let message = "The program's guardian was killed; the program was ended with it.";
            Outcome::failed(failure("guardian_lost", ErrorClass::ResourceExhausted, message))
        }
    }
}

/// It never ran: what stands in the way, and what to do about it.
pub fn not_started(spec: &CommandSpec, why: &str) -> Failure {
    let message = match spec.obstacle() {
        Some(obstacle) => format!("The program could not be started: {obstacle} ({why})."),
        None => format!("The program {} could not be started: {why}.", spec.program),
    };
    failure("spawn_failed", ErrorClass::DependencyUnavailable, message)
}

fn unsuccessful(
    code: &str,
    plain: String,
    kernels: Option<Limit>,
    spec: &CommandSpec,
    output: &Output<'_>,
    ctx: &Ctx,
) -> Failure {
    let words = output.last_words();
    let set = |limit: &Limit| spec.resources.get(*limit).is_some();
    let limit = kernels.or_else(|| words.as_deref().and_then(limit_of_words)).filter(set);
    match limit {
        // What the program said about itself goes before what can be told from outside.
        Some(limit) if output.error().is_none() => over_limit(limit, spec, words),
        _ => named(code, plain, output, ctx),
    }
}

/// The limits of the kernel that end a program by a signal of their own.
fn limit_of_signal(signal: i32) -> Option<Limit> {
    match Signal::try_from(signal).ok()? {
        Signal::SIGXCPU => Some(Limit::CpuSeconds),
        Signal::SIGXFSZ => Some(Limit::FileSize),
        _ => None,
    }
}

/// The others only make a call fail, and nobody but the program hears of it: it says so in its last words.
fn limit_of_words(words: &str) -> Option<Limit> {
    const SAID: [(&str, Limit); 9] = [
        ("File too large", Limit::FileSize),
        ("Too many open files", Limit::OpenFiles),
        ("MemoryError", Limit::Memory),
        ("OutOfMemory", Limit::Memory),
        ("ut of memory", Limit::Memory),
        ("Cannot allocate memory", Limit::Memory),
        ("memory exhausted", Limit::Memory),
        ("bad_alloc", Limit::Memory),
        ("memory allocation of", Limit::Memory),
    ];
    SAID.iter().find(|(said, _)| words.contains(said)).map(|(_, limit)| *limit)
}

/// Trying again would only break it again: somebody has to raise the limit or give it less to do.
fn over_limit(limit: Limit, spec: &CommandSpec, words: Option<String>) -> Failure {
    let most = in_words(limit, spec.resources.get(limit).unwrap_or_default());
    let what = match limit {
        Limit::Memory => format!("It needed more memory than its limit of {most}"),
        Limit::CpuSeconds => format!("It computed for longer than its limit of {most}"),
        Limit::OpenFiles => format!("It opened more files than its limit of {most}"),
        Limit::Processes => format!("It started more processes and threads than its limit of {most}"),
        Limit::FileSize => format!("It wrote a file larger than its limit of {most}"),
    };
    let said = words.map(|words| format!(" Its last words: {words}")).unwrap_or_default();
    let message = format!("{what} (`{limit}` of “{}” in commands.toml).{said}", spec.key);
    Failure { retryable: Some(false), ..failure(limit.code(), ErrorClass::ResourceExhausted, message) }
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
