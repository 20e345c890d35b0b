//! The command line: what can be asked for, and how answers and errors are written.

mod announce;
mod audit;
mod bench;
mod client;
mod definition;
mod demo;
mod doctor;
mod key;
mod migrate;
mod out;
mod people;
mod provider;
mod routes;
mod running;
mod serve;
mod signing;
mod streams;
mod tenant;
mod text;
mod worker;

use crate::{config, config::Config, redacted_log::RedactedLog};
use clap::{Parser, Subcommand};
use leasehold_queue::Scope;
use leasehold_types::{Problem, ProblemCode};
use leasehold_worker::guard;
pub use out::Out;
use std::{io::IsTerminal, process::ExitCode};
use tracing_subscriber::EnvFilter;

/// Durable background jobs for many tenants.
#[derive(Parser)]
#[command(name = "leasehold", version, about, after_long_help = config::help())]
struct Cli {
    /// Write answers and errors as JSON.
    #[arg(long, global = true)]
    json: bool,
    /// The database: postgres://… or sqlite:…
    #[arg(long, global = true, value_name = "URL")]
    db: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the dashboard and run jobs.
    Serve(serve::Serve),
    /// Run jobs, without a dashboard.
    Worker(worker::Worker),
    /// Bring the database's schema up to date.
    Migrate,
    /// Tenants.
    #[command(subcommand)]
    Tenant(tenant::Tenant),
    /// People who may sign in.
    #[command(subcommand)]
    User(people::User),
    /// API keys.
    #[command(subcommand)]
    Key(key::Key),
    /// Who did what, and whether the log of it is untouched.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Kinds of job.
    #[command(subcommand)]
    Definition(definition::Kind),
    /// Whom composite jobs may call.
    #[command(subcommand)]
    Provider(provider::Provider),
    /// The keys that sign links to files.
    #[command(subcommand)]
    Signing(signing::Signing),
    /// Look at jobs and steer them, over the API.
    #[command(subcommand)]
    Jobs(client::Jobs),
    /// Enqueue a job, over the API.
    Enqueue(client::Enqueue),
    Operations(client::Operations),
    Prune(client::Prune),
    Ttl(client::Ttl),
    ArchiveMeta(client::ArchiveMeta),
    /// Say what is wrong with this installation, and how to fix it.
    Doctor(doctor::Doctor),
    /// Measure this machine's databases, and Leasehold on them; --json FILE writes the figures.
    Bench(bench::Bench),
    /// Commands to try Leasehold out with; they run as jobs.
    #[command(subcommand)]
    Demo(demo::Demo),
    /// Every address this binary answers at.
    #[command(hide = true)]
    Routes(routes::Routes),
    /// Holds a command for a worker and ends it with the worker. Workers start this themselves.
    #[command(hide = true)]
    Guard {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<std::ffi::OsString>,
    },
}

impl Command {
    fn flags(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Serve(serve) => serve.flags(),
            Self::Worker(worker) => worker.flags(),
            _ => Vec::new(),
        }
    }

    /// A command that answers and ends speaks for itself; one that stays tells what it does.
    fn default_log(&self) -> &'static str {
        match self {
            Self::Serve(_) | Self::Worker(_) => {
                "info,sqlx=warn,tower_sessions=error,tower_sessions_core=error"
            }
            _ => "warn",
        }
    }
}

pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let out = Out::new(cli.json);
    match cli.command {
        // These two are run by workers: they need no configuration, and must not get in the command's way.
        Command::Guard { args } => guard::main(args),
        Command::Demo(demo) => demo.run(),
        // These talk to a server, which has a configuration of its own.
        Command::Jobs(jobs) => jobs.run(out),
        Command::Enqueue(enqueue) => enqueue.run(out),
        Command::Operations(operations) => operations.run(out),
        Command::Prune(prune) => prune.run(out),
        Command::Ttl(ttl) => ttl.run(out),
        Command::ArchiveMeta(meta) => meta.run(out),
        Command::Definition(kind) if kind.is_for_server(cli.db.as_deref()) => kind.ask(out),
        // A configuration that stops every other command is what this one is for.
        Command::Doctor(doctor) => doctor.run(cli.db, out),
        command => match run(command, cli.db, out) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                out.fail(&problem);
                ExitCode::FAILURE
            }
        },
    }
}

fn run(command: Command, db: Option<String>, out: Out) -> Result<(), Problem> {
    let mut flags = command.flags();
    flags.extend(db.map(|url| ("JOBS_DB_URL", url)));
    let config = Config::load(flags)?;
    start_log(&config, command.default_log());
    // Its environment holds the database's password; commands run as the same user. And what a guardian that is
    // killed leaves behind comes to us.
    guard::forbid_inspection();
    guard::strays::adopt();
    let runtime = tokio::runtime::Runtime::new().map_err(|error| failed("start", error))?;
    runtime.block_on(async {
        match command {
            Command::Serve(serve) => serve.run(config, out).await,
            Command::Worker(worker) => worker.run(config).await,
            Command::Migrate => migrate::run(config, out).await,
            Command::Tenant(tenant) => tenant.run(config, out).await,
            Command::User(user) => user.run(config, out).await,
            Command::Key(key) => key.run(config, out).await,
            Command::Audit(audit) => audit.run(config, out).await,
            Command::Definition(kind) => kind.run(config, out).await,
            Command::Provider(provider) => provider.run(config, out).await,
            Command::Signing(signing) => signing.run(config, out).await,
            Command::Bench(bench) => bench.run(out).await,
            Command::Routes(routes) => {
                routes.run(out);
                Ok(())
            }
            // Handled before.
            Command::Demo(_)
            | Command::Guard { .. }
            | Command::Jobs(_)
            | Command::Enqueue(_)
            | Command::Operations(_)
            | Command::Prune(_)
            | Command::Ttl(_)
            | Command::ArchiveMeta(_)
            | Command::Doctor(_) => Ok(()),
        }
    })
}

/// Logs go to stderr: stdout is for answers.
fn start_log(config: &Config, default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let redactor = config.engine.secrets.redactor().clone();
    let writer = move || RedactedLog::new(redactor.clone(), std::io::stderr());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    if config.log_json {
        log.json().init();
    } else {
        log.with_ansi(std::io::stderr().is_terminal()).init();
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
}

/// Whoever may use the database itself, by their name on this machine: what they change is in the audit log too.
fn terminal() -> Scope {
    let id = nix::unistd::Uid::current();
    let user = nix::unistd::User::from_uid(id).ok().flatten();
    Scope::terminal(user.map_or_else(|| id.to_string(), |user| user.name))
}

/// Something this machine did not let us do.
pub fn failed(what: &str, error: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemCode::Internal, format!("Leasehold cannot {what}: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_guarded_command_keeps_its_own_options() {
        let cli =
            Cli::try_parse_from(["leasehold", "guard", "--", "hold", "memory=1", "/bin/ls", "--json", "-l"])
                .unwrap();
        let Command::Guard { args } = cli.command else { panic!("not a guard") };
        assert_eq!(args, ["hold", "memory=1", "/bin/ls", "--json", "-l"]);
        assert!(!cli.json);
    }
}
