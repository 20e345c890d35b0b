//! What is shown of a job: never a secret, also of rows that were kept when less was known.

use crate::secrets::{KeyBlock, REDACTED, Redactor, SecretPolicy};
use leasehold_types::{
    LogStream,
    view::{JobDetail, LogLine},
};
use std::borrow::Cow;

pub fn hide_in_job(policy: &SecretPolicy, job: &mut JobDetail) {
    let policy = policy.knowing(&job.payload);
    for value in [Some(&mut job.payload), Some(&mut job.metadata), job.result.as_mut()].into_iter().flatten()
    {
        policy.hide(value);
    }
    let texts = [
        &mut job.error_message,
        &mut job.error_stack,
        &mut job.cancellation_reason,
        &mut job.row.progress_message,
        &mut job.row.stage,
        &mut job.row.error_code,
        &mut job.correlation_id,
        &mut job.request_id,
        &mut job.dedupe_key,
        &mut job.concurrency_key,
        &mut job.owner_user_id,
        &mut job.source_ref,
    ];
    texts.into_iter().flatten().chain([&mut job.trace_id]).for_each(|text| policy.hide_text(text));
    for entry in &mut job.trail {
        entry.reason.iter_mut().for_each(|reason| policy.hide_text(reason));
    }
    for attempt in &mut job.attempts {
        let tails = [
            &mut attempt.error_code,
            &mut attempt.error_text,
            &mut attempt.stdout_tail,
            &mut attempt.stderr_tail,
        ];
        tails.into_iter().flatten().for_each(|text| policy.hide_text(text));
        hide_in_lines(policy.redactor(), &mut attempt.logs);
    }
}

pub fn hide_in_lines(redactor: &Redactor, lines: &mut [LogLine]) {
    let (mut stdout, mut stderr, mut system) =
        (KeyBlock::default(), KeyBlock::default(), KeyBlock::default());
    for line in lines {
        let block = match line.stream {
            LogStream::Stdout => &mut stdout,
            LogStream::Stderr => &mut stderr,
            LogStream::System => &mut system,
        };
        if block.covers(&line.text) {
            REDACTED.clone_into(&mut line.text);
        } else if let Cow::Owned(shown) = redactor.text(&line.text) {
            line.text = shown;
        }
    }
}
