//! `leasehold demo …`: small programs that behave like real ones, to run as jobs. They do a little honest work,
//! report progress and log lines, and stop when told to.

use clap::{Args, Subcommand, ValueEnum};
use sha2::{Digest, Sha256};
use std::{
    io::{self, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

#[derive(Subcommand)]
pub enum Demo {
    /// Makes rows, checks them, and takes its time.
    Import(Import),
    /// Fails in the first attempts and succeeds afterwards.
    Flaky(Flaky),
}

#[derive(Args)]
pub struct Import {
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[arg(long, default_value_t = 1_200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rows: u32,
    /// The stage in which to fail.
    #[arg(long)]
    fail_at: Option<Stage>,
}

#[derive(Args)]
pub struct Flaky {
    /// Which attempt this is.
    #[arg(long)]
    attempt: u32,
    /// How many attempts fail.
    #[arg(long)]
    fail_first: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stage {
    Connecting,
    Reading,
    Writing,
    Verifying,
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Reading => "reading",
            Self::Writing => "writing",
            Self::Verifying => "verifying",
        }
    }

    /// Its part of the whole, in percent.
    const fn span(self) -> (u32, u32) {
        match self {
            Self::Connecting => (0, 5),
            Self::Reading => (5, 45),
            Self::Writing => (45, 90),
            Self::Verifying => (90, 100),
        }
    }
}

impl Demo {
    pub fn run(self) -> ExitCode {
        let ended = match self {
            Self::Import(import) => import.run(),
            Self::Flaky(flaky) => flaky.run(),
        };
        // Nobody listens any more: as good a reason to stop as a signal.
        ended.unwrap_or(ExitCode::FAILURE)
    }
}

/// Each line at once: whoever watches wants to see it now.
fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

fn warn(line: &str) -> io::Result<()> {
    writeln!(io::stderr().lock(), "{line}")
}

impl Import {
    fn run(&self) -> io::Result<ExitCode> {
        let mut sum = Sha256::new();
        for stage in [Stage::Connecting, Stage::Reading, Stage::Writing, Stage::Verifying] {
            if !self.work(stage, &mut sum)? {
                let name = stage.name();
                warn(&format!("error: the source closed the connection while {name}"))?;
                say(&format!(
                    "::error code=import_failed class=dependency_unavailable message=The source closed the connection while {name}"
                ))?;
                return Ok(ExitCode::FAILURE);
            }
        }
        let checksum = crate::secret::hex(&sum.finalize()[..8]);
        say(&format!("imported {} rows, checksum {checksum}", self.rows))?;
        say(&format!("::result {{\"rows\":{},\"checksum\":\"{checksum}\"}}", self.rows))?;
        Ok(ExitCode::SUCCESS)
    }

    /// One stage, in steps of about a fifth of a second; false when it was to fail here.
    fn work(&self, stage: Stage, sum: &mut Sha256) -> io::Result<bool> {
        let (from, to) = stage.span();
        let lasts = Duration::from_secs(u64::from(self.seconds)) * (to - from) / 100;
        let steps = u32::try_from(lasts.as_millis() / 200).unwrap_or(u32::MAX).clamp(1, 400);
        self.open(stage)?;
        let began = Instant::now();
        for step in 0..steps {
            self.progress(stage, from + (to - from) * step / steps, step, steps)?;
            if self.fail_at == Some(stage) && step * 2 >= steps.saturating_sub(1) {
                return Ok(false);
            }
            if stage == Stage::Reading {
                self.read(step, steps, sum)?;
            }
            std::thread::sleep((lasts * (step + 1) / steps).saturating_sub(began.elapsed()));
        }
        self.progress(stage, to, steps, steps)?;
        Ok(true)
    }

    fn open(&self, stage: Stage) -> io::Result<()> {
        match stage {
            Stage::Connecting => say("connecting to the source"),
            Stage::Reading => {
                say(&format!("connected; {} rows to read", self.rows))?;
                warn("warning: the source sends no row count; assuming the one asked for")
            }
            Stage::Writing => say(&format!("read {} rows, writing them in batches", self.rows)),
            Stage::Verifying => {
                warn("warning: 1 row had no owner and was given to “nobody”")?;
                say("verifying checksums")
            }
        }
    }

    fn progress(&self, stage: Stage, percent: u32, step: u32, steps: u32) -> io::Result<()> {
        let name = stage.name();
        let message = match stage {
            Stage::Connecting => "Connecting".to_owned(),
            Stage::Reading => format!("{} of {} rows read", self.share(step, steps), self.rows),
            Stage::Writing => format!("{} of {} rows written", self.share(step, steps), self.rows),
            Stage::Verifying => "Comparing checksums".to_owned(),
        };
        say(&format!("::progress stage={name} percent={percent} message={message}"))?;
        if stage == Stage::Writing && step > 0 {
            say(&format!("batch {step}/{steps} written"))?;
        }
        Ok(())
    }

    fn share(&self, step: u32, steps: u32) -> u64 {
        u64::from(self.rows) * u64::from(step) / u64::from(steps)
    }

    /// The honest part: rows that look like something, and their checksum.
    fn read(&self, step: u32, steps: u32, sum: &mut Sha256) -> io::Result<()> {
        let rows = self.share(step, steps)..self.share(step + 1, steps);
        if let Some(first) = rows.clone().next() {
            say(&format!("reading rows {}–{}", first + 1, rows.end))?;
        }
        for row in rows {
            let amount =
                row.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 40;
            sum.update(format!("{row};customer-{};{amount}\n", row % 97));
        }
        Ok(())
    }
}

impl Flaky {
    fn run(&self) -> io::Result<ExitCode> {
        let Self { attempt, fail_first } = self;
        say(&format!("attempt {attempt}: asking the upstream service"))?;
        std::thread::sleep(Duration::from_millis(300));
        if attempt <= fail_first {
            warn("error: the upstream service answered 503")?;
            say(
                "::error code=flaky_upstream class=dependency_unavailable message=The upstream service answered 503",
            )?;
            return Ok(ExitCode::FAILURE);
        }
        say("the upstream service answered 200")?;
        say(&format!("::result {{\"attempt\":{attempt}}}"))?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_cover_the_whole_bar_in_order() {
        let spans = Stage::value_variants().iter().map(|stage| stage.span());
        let end = spans.fold(0, |reached, (from, to)| {
            assert_eq!(from, reached);
            to
        });
        assert_eq!(end, 100);
    }

    #[test]
    fn every_row_is_read_exactly_once() {
        let import = Import { seconds: 1, rows: 1_201, fail_at: None };
        let mut next = 0;
        for step in 0..7 {
            assert_eq!(import.share(step, 7), next);
            next = import.share(step + 1, 7);
        }
        assert_eq!(next, 1_201);
    }
}
