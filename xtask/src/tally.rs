//! Counts tests from what the runners print: cargo-nextest, cargo test and Playwright.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// `Summary [ 1.2s] 5 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 2 skipped`
    pub fn read_nextest(&mut self, line: &str) {
        let Some((_, counts)) =
            line.trim_start().strip_prefix("Summary [").and_then(|s| s.split_once("run:"))
        else {
            return;
        };
        counts.split(',').for_each(|part| self.add(counted(part)));
    }

    /// `test result: ok. 3 passed; 0 failed; 1 ignored; …`, once per test binary
    pub fn read_cargo_test(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|s| s.split_once(". ")) else {
            return;
        };
        counts.split(';').for_each(|part| self.add(counted(part)));
    }

    /// `  3 passed (12.0s)`, `  1 failed`, `  2 did not run`, each on a line of its own
    pub fn read_playwright(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("  ") else { return };
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.add(counted(rest));
        }
    }
}

/// One `NUMBER WORDS (REMARK)`. A test that passed only on a second try or never ran is a failure: it
/// proves nothing.
fn counted(part: &str) -> Tally {
    let words = part.split('(').next().unwrap_or_default();
    let Some((number, what)) = words.trim().split_once(' ') else { return Tally::default() };
    let Ok(count) = number.parse() else { return Tally::default() };
    match what.trim() {
        "passed" => Tally { passed: count, failed: 0 },
        "failed" | "exec failed" | "timed out" | "flaky" | "interrupted" | "did not run" => {
            Tally { passed: 0, failed: count }
        }
        _ => Tally::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str, reader: fn(&mut Tally, &str)) -> (u32, u32) {
        let mut tally = Tally::default();
        lines.lines().for_each(|line| reader(&mut tally, line));
        (tally.passed, tally.failed)
    }

    #[test]
    fn nextest_summary_counts_timeouts_as_failures() {
        let lines = "        PASS [   0.004s] xtask tally::tests::a\n\
             \x20    Summary [   1.234s] 7/9 tests run: 4 passed (1 slow), 2 failed, 1 timed out, 3 skipped\n";
        assert_eq!(read(lines, Tally::read_nextest), (4, 3));
    }

    #[test]
    fn cargo_test_results_add_up_over_binaries() {
        let lines = "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n";
        assert_eq!(read(lines, Tally::read_cargo_test), (5, 1));
    }

    #[test]
    fn playwright_counts_what_did_not_run_as_failed() {
        let lines = "  1 failed\n    [sqlite] › journeys.spec.ts:3:5 › 7 passed by\n  2 did not run\n  12 passed (31.0s)\n";
        assert_eq!(read(lines, Tally::read_playwright), (12, 3));
    }
}
