//! `fault-worker URL FOLDER LEASE_SECONDS`: a whole worker with real commands, to be killed or frozen. It is its own guardian, and
//! ends when its stdin closes.
//!
//! Its commands write into the folder's `ledger`, outside of any database, one line per fact: `start JOB ATTEMPT PID
//! WORKER` and `end JOB ATTEMPT`.

use leasehold_faults::{open, rules};
use leasehold_queue::{Clock, Engine, EngineConfig, cadence::Cadence};
use leasehold_worker::{CommandBook, Pool, PoolConfig, watchdog};
use std::{io::Read, path::Path, process::ExitCode, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const BOOK: &str = r#"
[commands.toil]
program = "/bin/sh"
args = ["-c", '''
echo "start $1 $2 $$ $3" >> "$4/ledger"
sleep "$5"
echo "end $1 $2" >> "$4/ledger"
''', "toil", "{{job.number}}", "{{job.attempt}}", "WORKER", "FOLDER", "{{payload.seconds}}"]
env = { inherit = ["PATH"] }
max_attempts = 100
retry = { base_seconds = 0, cap_seconds = 0, jitter = "none" }
schema = { required = ["seconds"], properties = { seconds = { type = "number", minimum = 0 } } }

[commands.linger]
program = "/bin/sh"
args = ["-c", '''
echo "early words of attempt $1"
echo "::progress percent=10 message=early"
echo "start $2 $1 $$ $3" >> "$4/ledger"
sleep 9
echo "late words of attempt $1"
echo "::progress percent=90 message=late-$1"
echo "::result {\"attempt\": $1}"
echo "end $2 $1" >> "$4/ledger"
''', "linger", "{{job.attempt}}", "{{job.number}}", "WORKER", "FOLDER"]
env = { inherit = ["PATH"] }
max_attempts = 100
retry = { base_seconds = 0, cap_seconds = 0, jitter = "none" }
"#;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    if args.peek().is_some_and(|first| first == "guard") {
        return leasehold_worker::guard::main(args.skip(1).skip_while(|arg| arg == "--"));
    }
    let args: Vec<_> = args.filter_map(|arg| arg.into_string().ok()).collect();
    match work(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fault-worker: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn work(args: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let [url, folder, lease] = args else { return Err("three arguments, please".into()) };
    let lease = Duration::from_secs(lease.parse()?);
    // The test holds the other end: when it is gone, so are we.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let book = BOOK.replace("WORKER", &std::process::id().to_string()).replace("FOLDER", folder);
    let book = Arc::new(CommandBook::parse(&book, Path::new("faults"))?);
    let store = open(url).await?;
    for definition in book.definitions() {
        store.ensure_definition(definition).await?;
    }
    let config = EngineConfig { rules: rules(), ..EngineConfig::default() };
    let engine = Arc::new(Engine::new(store, Clock::system(), config));
    let shutdown = CancellationToken::new();
    let _watchdog = tokio::spawn(watchdog(engine.clone(), shutdown.clone()));
    let config = PoolConfig {
        concurrency: 8,
        poll: Duration::from_millis(200),
        lease,
        renewal: Cadence { every: lease / 3, jitter: Duration::ZERO },
        ..PoolConfig::default()
    };
    Pool::new(engine, book, config).run(shutdown).await;
    Ok(())
}
