//! `leasehold bench`: ratios against plain SQL, on databases of its own.

use super::{
    Out, failed,
    streams::{self, StreamSizes},
};
use clap::Args;
use leasehold_bench::{BenchOptions, Sizes};
use leasehold_types::Problem;
use serde_json::Value;
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
    /// Measure live streams instead: a thousand of them on one serving process.
    #[arg(long)]
    streams: bool,
    /// With --json: write the figures to this file instead.
    file: Option<PathBuf>,
}

impl Bench {
    pub async fn run(self, out: Out) -> Result<(), Problem> {
        if self.streams {
            return self.measure_streams(out).await;
        }
        let sizes = if self.quick { Sizes::quick() } else { Sizes::full() };
        let options = BenchOptions { sizes, postgres: self.postgres, only: self.only };
        let report = leasehold_bench::run(options, |what| eprintln!("{what} …"))
            .await
            .map_err(|error| failed("finish the measurement", error))?;
        let json = serde_json::to_value(&report).map_err(|error| failed("write the figures", error))?;
        say(out, self.file, &report.to_string(), &json)
    }

    async fn measure_streams(self, out: Out) -> Result<(), Problem> {
        let sizes = if self.quick { StreamSizes::quick() } else { StreamSizes::full() };
        let mut reports = Vec::new();
        for database in ["sqlite", "postgres"] {
            if self.only.as_deref().is_some_and(|only| only != database) {
                continue;
            }
            eprintln!("live streams on {database} …");
            reports.push(streams::measure(database, self.postgres.as_deref(), sizes).await?);
        }
        let table: String = reports.iter().map(ToString::to_string).collect();
        let json = serde_json::to_value(&reports).map_err(|error| failed("write the figures", error))?;
        say(out, self.file, &table, &json)
    }
}

fn say(out: Out, file: Option<PathBuf>, table: &str, json: &Value) -> Result<(), Problem> {
    let Some(file) = file.filter(|_| out.is_json()) else {
        out.say(table.trim_end(), json);
        return Ok(());
    };
    std::fs::write(&file, format!("{json:#}\n")).map_err(|error| failed("write the figures", error))?;
    Out::new(false).say(table.trim_end(), json);
    Ok(())
}
