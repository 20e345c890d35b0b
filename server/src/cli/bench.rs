//! `leasehold bench`: ratios against plain SQL, on databases of its own.

use super::{Out, failed};
use clap::Args;
use leasehold_bench::{BenchOptions, Sizes};
use leasehold_types::Problem;
use std::path::PathBuf;

#[derive(Args)]
pub struct Bench {
    /// Fit into two minutes.
    #[arg(long)]
    quick: bool,
    /// A Postgres server to measure on; else a throw-away one is started.
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Measure only this store.
    #[arg(long, value_parser = ["postgres", "sqlite"])]
    only: Option<String>,
    /// With --json: write the figures to this file instead.
    file: Option<PathBuf>,
}

impl Bench {
    pub async fn run(self, out: Out) -> Result<(), Problem> {
        let sizes = if self.quick { Sizes::quick() } else { Sizes::full() };
        let options = BenchOptions { sizes, postgres: self.postgres, only: self.only };
        let report = leasehold_bench::run(options, |what| eprintln!("{what} …"))
            .await
            .map_err(|error| failed("finish the measurement", error))?;
        let json = serde_json::to_value(&report).map_err(|error| failed("write the figures", error))?;
        let table = report.to_string();
        let Some(file) = self.file.filter(|_| out.json) else {
            out.say(table.trim_end(), &json);
            return Ok(());
        };
        std::fs::write(&file, format!("{json:#}\n")).map_err(|error| failed("write the figures", error))?;
        Out { json: false }.say(table.trim_end(), &json);
        Ok(())
    }
}
