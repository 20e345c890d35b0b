//! The guardian alone, as a program of its own: `leasehold-guard guard -- program args…`. The `leasehold` binary
//! offers the same as a hidden subcommand; this one is for tests and for embedding the worker elsewhere.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    args.next_if(|word| word == "guard");
    args.next_if(|word| word == "--");
    leasehold_worker::guard::main(args)
}
