use super::*;
use crate::executor::{JobRules, StopSignal};
use leasehold_queue::{
    Clock,
    secrets::{Redactor, corpus},
};
use leasehold_types::Timestamp;
use serde_json::json;

fn ctx() -> Ctx {
    Ctx::new(JobRules::default(), Redactor::default(), 10_000, Clock::system(), StopSignal::default())
}

fn logged(ctx: &Ctx) -> Vec<(LogStream, String)> {
    let lines = ctx.logs().take(usize::MAX, Timestamp::default());
    lines.into_iter().map(|line| (line.stream, line.text)).collect()
}

async fn drained(ctx: &Ctx, stdout: &[u8], stderr: &[u8]) -> (AttemptFacts, Option<Given>, Option<Failure>) {
    let output = Output::new(ctx);
    output.drain(Some(stdout), Some(stderr)).await;
    (output.facts(None, None), output.result(), output.error())
}

#[tokio::test]
async fn markers_are_obeyed_and_do_not_clutter_the_log() {
    let ctx = ctx();
    let stdout =
        b"hello\n::progress percent=40 message=token=abc\n::result {\"rows\": 2, \"token\": \"t\"}\n";
    let (facts, result, error) = drained(&ctx, stdout, b"::error code=e message=no\nlast words\n").await;
    assert_eq!(facts.stdout_tail.as_deref(), Some("hello\n"));
    assert_eq!(facts.stderr_tail.as_deref(), Some("last words\n"));
    assert_eq!(result, Some(Given::Value(json!({"rows": 2, "token": "t"}))), "hidden with all other results");
    assert_eq!(error.unwrap().error_code.as_deref(), Some("e"));
    let progress = ctx.take_reports().progress.remove(0);
    assert_eq!((progress.percent, progress.message.as_deref()), (Some(40), Some("token=***REDACTED***")));
    assert_eq!(logged(&ctx).len(), 2);
}

#[tokio::test]
async fn a_secret_across_the_limit_of_a_line_is_still_hidden() {
    let ctx = ctx();
    let line = format!("{} ghp_abcdefghijklmnopqrstuvwxyz0123456789\n", "x".repeat(LINE_BYTES - 30));
    let (facts, ..) = drained(&ctx, line.as_bytes(), b"").await;
    let (_, text) = &logged(&ctx)[0];
    assert!(text.len() <= LINE_BYTES && text.ends_with("… (cut)"), "{}", text.len());
    assert!(!text.contains("ghp_") && !facts.stdout_tail.unwrap().contains("ghp_"));
}

#[tokio::test]
async fn a_private_key_appears_in_neither_log_nor_tail() {
    let ctx = ctx();
    let stdout = b"-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\nafter\n";
    let (facts, ..) = drained(&ctx, stdout, b"").await;
    assert!(!facts.stdout_tail.unwrap().contains("MIIEvQ"));
    assert!(logged(&ctx).iter().all(|(_, text)| !text.contains("MIIEvQ")));
}

#[tokio::test]
async fn bad_markers_are_complained_about_a_few_times_only() {
    let ctx = ctx();
    drained(&ctx, "::progress percent=x\n".repeat(50).as_bytes(), b"").await;
    let notes = logged(&ctx).into_iter().filter(|(stream, _)| *stream == LogStream::System).count();
    assert_eq!(notes, COMPLAINTS as usize);
}

#[tokio::test]
async fn the_last_result_counts_and_one_that_is_too_large_is_known_as_such() {
    let large = format!("::result \"{}\"\n", "y".repeat(20_000));
    let (_, result, _) = drained(&ctx(), large.as_bytes(), b"").await;
    assert_eq!(result, Some(Given::TooLarge));
    let (_, result, _) = drained(&ctx(), format!("{large}::result 3\n").as_bytes(), b"").await;
    assert_eq!(result, Some(Given::Value(json!(3))));
}

#[tokio::test]
async fn no_secret_of_any_kind_is_left_of_what_a_program_says() {
    let ctx = ctx();
    let mut said = String::new();
    for secret in corpus::secrets() {
        let one_line = secret.text.replace('\n', " ");
        said += &format!("{}\n{} {}\n", secret.text, "x".repeat(LINE_BYTES - 40), one_line);
        said += &format!(
            "::progress stage=token={} message={one_line}\n::error message={one_line}\n",
            secret.core
        );
    }
    let output = Output::new(&ctx);
    output.drain(Some(said.as_bytes()), Some(said.as_bytes())).await;
    let facts = output.facts(None, None);
    let seen = format!("{facts:?} {:?} {:?} {:?}", logged(&ctx), output.error(), ctx.take_reports());
    for secret in corpus::secrets() {
        // Also not the first part of one that lies across the limit of a line.
        assert!(!seen.contains(&secret.core[..6]) || secret.kind == "basic", "{secret:?}");
        assert!(!seen.contains(&secret.core), "{secret:?}");
    }
}
