//! The deck handlers, through a real pool: Markdown in, files out that the usual programs open.

use crate::house::{House, On, Worker, lines};
use leasehold_decks::{
    convert::{Source, SourceFormat, extract, normalize},
    export::{ExportFormat, prepare_deck},
    model::Deck,
    watch::unwatched,
};
use leasehold_queue::{
    Engine, EngineConfig,
    attachments::{NewAttachment, sha256_hex},
    domains::DomainPolicy,
    engine::EnqueueRequest,
    params::{NewDefinition, Renewal, Selector},
};
use leasehold_types::{
    JobRef, JobStatus, LogStream, Source as Asked, WorkerId,
    view::{AttachmentView, JobDetail},
};
use leasehold_worker::builtin;
use serde_json::{Value, json};
use std::{path::Path, process::Command, sync::Arc, time::Duration};

const SAMPLE: &str = include_str!("../../../../docs/samples/harbour.md");

fn deck(markdown: &str) -> Deck {
    let source = Source::read(SourceFormat::Markdown, markdown.as_bytes()).unwrap();
    normalize(extract(&source, &mut unwatched).unwrap(), &mut unwatched).unwrap()
}

fn exported(deck: &Deck, format: ExportFormat) -> Vec<u8> {
    let prepared = prepare_deck(format, deck, &mut unwatched).unwrap();
    prepared.render(&mut unwatched).unwrap().package(&mut unwatched).unwrap().bytes
}

async fn working(database: On) -> (House, Worker) {
    let house = House::on(database).await;
    let worker = house.start(House::config());
    (house, worker)
}

async fn files(house: &House, number: i64) -> Vec<AttachmentView> {
    house.engine.store().attachments(&house.scope, JobRef::Number(number)).await.unwrap()
}

async fn bytes(house: &House, file: &AttachmentView) -> Vec<u8> {
    house.engine.store().attachment(&house.scope, file.id).await.unwrap().unwrap().bytes
}

fn assert_completed(job: &JobDetail) {
    assert_eq!((job.row.status, job.row.progress), (JobStatus::Completed, 100), "{:?}", job.error_message);
}

/// Follows a link of a result as a browser would.
async fn followed(house: &House, file: &Value) -> Vec<u8> {
    let url = file["url"].as_str().unwrap();
    let (expires, signature) = url.split_once("?expires=").unwrap().1.split_once("&signature=").unwrap();
    let id = file["id"].as_str().unwrap().parse().unwrap();
    house.engine.follow_link(id, expires.parse().unwrap(), signature).await.unwrap().bytes
}

async fn a_document_becomes_slides_and_files(database: On) {
    let (house, worker) = working(database).await;
    let number = house.enqueue("decks.convert", json!({"markdown": SAMPLE})).await;
    let converted = house.finished(number).await;
    assert_completed(&converted);
    assert!(lines(&converted.attempts[0], LogStream::System)[0].starts_with("Kept deck.json, "));
    let result = converted.result.unwrap();
    assert_eq!((&result["title"], &result["slides"]), (&json!("Harbour lights"), &json!(13)));
    assert_eq!(result["preview"]["slides"][1]["heading"], "Why we count");
    let kept = files(&house, number).await;
    assert_eq!((kept.len(), kept[0].name.as_str()), (1, "deck.json"));
    assert_eq!(bytes(&house, &kept[0]).await, deck(SAMPLE).to_json().unwrap());
    assert_eq!(followed(&house, &result["deck"]).await, deck(SAMPLE).to_json().unwrap());

    let export = house.enqueue("decks.export", json!({"source_job": number})).await;
    let exporting = house.finished(export).await;
    assert_completed(&exporting);
    let result = exporting.result.unwrap();
    assert_eq!((&result["slides"], &result["files"][0]["name"]), (&json!(13), &json!("harbour-lights.pptx")));
    for (index, format) in [ExportFormat::Pptx, ExportFormat::Pdf].into_iter().enumerate() {
        let file = &result["files"][index];
        let expected = exported(&deck(SAMPLE), format);
        assert_eq!((&file["size"], &file["sha256"]), (&json!(expected.len()), &json!(sha256_hex(&expected))));
        assert!(followed(&house, file).await == expected, "{file}");
    }
    let names: Vec<_> = files(&house, export).await.into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["harbour-lights.pdf", "harbour-lights.pptx"]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_becomes_slides_and_files_sqlite() {
    a_document_becomes_slides_and_files(On::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_becomes_slides_and_files_postgres() {
    a_document_becomes_slides_and_files(On::Postgres).await;
}

/// Pages of a PDF, one line each.
fn pages(pdf: &Path) -> Vec<String> {
    let output = Command::new("pdftotext").args(["-layout", "-enc", "UTF-8"]).arg(pdf).arg("-").output();
    let output =
        output.expect("pdftotext is in the Debian package poppler-utils, which `make test` installs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let pages = text.split('\u{c}').map(|page| page.split_whitespace().collect::<Vec<_>>().join(" "));
    pages.filter(|page| !page.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_usual_programs_open_the_files() {
    let (house, worker) = working(On::Sqlite).await;
    let payload = json!({"deck": serde_json::to_value(deck(SAMPLE)).unwrap(), "format": "both"});
    let number = house.enqueue("decks.export", payload).await;
    assert_completed(&house.finished(number).await);
    for file in files(&house, number).await {
        std::fs::write(house.folder.path().join(&file.name), bytes(&house, &file).await).unwrap();
    }
    let folder = house.folder.path();
    let printed = Command::new("soffice")
        .arg(format!("-env:UserInstallation=file://{}", folder.join("profile").display()))
        .args(["--headless", "--convert-to", "pdf", "--outdir"])
        .arg(folder.join("printed"))
        .arg(folder.join("harbour-lights.pptx"))
        .output()
        .expect("soffice is in the Debian package libreoffice-impress, which `make test` installs");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    for pdf in [folder.join("harbour-lights.pdf"), folder.join("printed/harbour-lights.pdf")] {
        let pages = pages(&pdf);
        assert_eq!(pages.len(), 13, "{}", pdf.display());
        assert!(pages[1].contains("Why we count") && pages[1].contains("eleven kilometres"), "{}", pages[1]);
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_become_a_deck_fails_at_once_and_says_why() {
    let (house, worker) = working(On::Sqlite).await;
    let cases = [
        ("decks.convert", json!({"markdown": "%PDF-1.7"}), "CONVERT_UNSUPPORTED_FORMAT", "not Markdown"),
        ("decks.convert", json!({"markdown": " "}), "CONVERT_VALIDATION_ERROR", "The source is empty."),
        (
            "decks.convert",
            json!({"markdown": "# A", "source_job": 1}),
            "CONVERT_VALIDATION_ERROR",
            "only one",
        ),
        ("decks.export", json!({"format": "pdf"}), "EXPORT_VALIDATION_ERROR", "Give one of deck"),
        ("decks.export", json!({"source_job": 4_711}), "EXPORT_VALIDATION_ERROR", "no job #4711"),
        ("decks.export", json!({"deck": {"version": 9}}), "EXPORT_UNSUPPORTED_FORMAT", "version 9"),
        ("decks.export", json!({"deck": {"version": 1}}), "EXPORT_VALIDATION_ERROR", "title"),
    ];
    for (key, payload, code, words) in cases {
        let job = house.finished(house.enqueue(key, payload.clone()).await).await;
        let message = job.error_message.clone().unwrap_or_default();
        assert_eq!((job.row.status, job.attempts.len()), (JobStatus::Failed, 1), "{payload}: {message}");
        assert_eq!(job.row.error_code.as_deref(), Some(code), "{payload}");
        assert!(message.contains(words), "{payload}: {message}");
        assert!(files(&house, job.row.number).await.is_empty());
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_deck_does_not_exist() {
    let (house, worker) = working(On::Sqlite).await;
    let converted = house.enqueue("decks.convert", json!({"markdown": "# Ours"})).await;
    assert_completed(&house.finished(converted).await);
    let file = files(&house, converted).await.remove(0);
    let strangers = house.engine.create_tenant(&house.scope, "Birch", None, None).await.unwrap().id;
    for payload in [json!({"source_job": converted}), json!({"attachment": file.id})] {
        let request = EnqueueRequest::new("decks.export", payload, Asked::Manual);
        let number = house.engine.enqueue(&house.scope, strangers, request).await.unwrap().job.number;
        let job = house.finished(number).await;
        assert_eq!(job.row.error_code.as_deref(), Some("EXPORT_VALIDATION_ERROR"));
    }
    let ours = house.enqueue("decks.export", json!({"attachment": file.id, "format": "pdf"})).await;
    assert_completed(&house.finished(ours).await);
    assert_eq!(files(&house, ours).await[0].name, "ours.pdf");
    worker.stop().await;
}

/// Where people are kept to domains, a payload must not fetch for them what they may not see.
#[tokio::test(flavor = "multi_thread")]
async fn another_domains_files_are_not_read() {
    let mut house = House::on(On::Sqlite).await;
    let domains = DomainPolicy { scoped: true, ..DomainPolicy::default() };
    let config = EngineConfig { domains, ..house.engine.config().clone() };
    let (store, clock) = (house.engine.store().clone(), house.engine.clock().clone());
    house.engine = Arc::new(Engine::new(store.clone(), clock, config));
    let like = builtin::definitions().remove(0);
    let (key, domain, executor) = ("hr.notes".into(), "hr".into(), "remote".into());
    let hidden = NewDefinition { key, domain, executor, job_type: "notes".into(), ..like };
    store.ensure_definition(NewDefinition { arg_schema: json!({"type": "object"}), ..hidden }).await.unwrap();
    let hidden = house.enqueue("hr.notes", json!({})).await;
    let notes = NewAttachment::new("notes.md", "text/markdown", b"# Salaries".to_vec());
    let file = store.keep_file(&house.scope, JobRef::Number(hidden), notes).await.unwrap();
    house.cancel(hidden).await;
    let worker = house.start(House::config());
    for payload in [json!({"source_job": hidden}), json!({"attachment": file.id})] {
        let job = house.finished(house.enqueue("decks.convert", payload.clone()).await).await;
        assert_eq!(job.row.status, JobStatus::Failed, "{payload}");
        assert_eq!(job.row.error_code.as_deref(), Some("forbidden"), "{payload}");
        assert!(files(&house, job.row.number).await.is_empty());
    }
    let own = house.enqueue("decks.convert", json!({"markdown": "# Ours"})).await;
    assert_completed(&house.finished(own).await);
    let export = house.enqueue("decks.export", json!({"source_job": own, "format": "pdf"})).await;
    assert_completed(&house.finished(export).await);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_has_not_ended_is_waited_for() {
    let (house, worker) = working(On::Sqlite).await;
    let later = EnqueueRequest {
        available_at: Some(house.engine.now().plus_secs(3_600)),
        ..EnqueueRequest::new("decks.convert", json!({"markdown": "# Later"}), Asked::Manual)
    };
    let source = house.engine.enqueue(&house.scope, house.tenant, later).await.unwrap().job.number;
    let number = house.enqueue("decks.export", json!({"source_job": source})).await;
    let job = house.until(number, |job| !job.failure_timeline.is_empty()).await;
    assert_eq!(job.attempts[0].error_code.as_deref(), Some("EXPORT_TRANSIENT_STORAGE"));
    assert!(job.failure_timeline[0].retry_backoff.is_some(), "it is tried again");
    worker.stop().await;
}

/// A worker died after it had kept the first of two files, and before it could say that the job is done.
async fn a_file_that_is_kept_is_not_made_again(database: On) {
    let house = House::on(database).await;
    let payload = json!({"deck": serde_json::to_value(deck("# Plan")).unwrap()});
    let source = sha256_hex(payload["deck"].to_string().as_bytes());
    let number = house.enqueue("decks.export", payload).await;
    let (store, lease) = (house.engine.store(), Duration::from_secs(1));
    let selector = Selector { kinds: vec![("decks".into(), "export".into())], ..Selector::default() };
    let held = store.claim(&WorkerId("dead:1:x".into()), &selector, 1, lease).await.unwrap().remove(0);
    // Bytes that no export would make: if they are there in the end, nobody made the file again.
    let mark = b"made by the first attempt".to_vec();
    let file = store.attach(&held.lease, NewAttachment::new("plan.pptx", "text/plain", mark.clone())).await;
    let checkpoint = Some(json!({"source": source, "files": [file.unwrap()]}));
    let renewal = Renewal { lease: held.lease, extend_by: lease, progress: None, pid: None, checkpoint };
    store.renew(vec![renewal]).await.unwrap();
    house.reclaimed(number).await;

    let worker = house.start(House::config());
    let job = house.finished(number).await;
    assert_completed(&job);
    let kept = files(&house, number).await;
    let attempts: Vec<_> = kept.iter().map(|file| (file.name.as_str(), file.attempt)).collect();
    assert_eq!(attempts, [("plan.pdf", 2), ("plan.pptx", 1)]);
    assert_eq!(bytes(&house, &kept[1]).await, mark);
    assert!(bytes(&house, &kept[0]).await == exported(&deck("# Plan"), ExportFormat::Pdf));
    let named: Vec<_> =
        job.result.unwrap()["files"].as_array().unwrap().iter().map(|f| f["name"].clone()).collect();
    assert_eq!(named, ["plan.pptx", "plan.pdf"]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_kept_is_not_made_again_sqlite() {
    a_file_that_is_kept_is_not_made_again(On::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_kept_is_not_made_again_postgres() {
    a_file_that_is_kept_is_not_made_again(On::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_and_progress_only_go_forward() {
    let (house, worker) = working(On::Sqlite).await;
    let many: String = (0..300).map(|n| format!("## Slide {n}\n\n- one\n- two\n\n")).collect();
    let number =
        house.enqueue("decks.export", json!({"deck": serde_json::to_value(deck(&many)).unwrap()})).await;
    assert_completed(&house.finished(number).await);
    let store = house.engine.store();
    let tail = store.outbox_tail().await.unwrap();
    let events = store.events(&house.scope, 0, tail, 1_000).await.unwrap();
    let told: Vec<_> = events.into_iter().map(|e| e.event).filter(|e| e.number == number).collect();
    assert!(told.is_sorted_by_key(|event| event.progress), "{told:#?}");
    let names = ["preparing", "rendering_slides", "packaging", "uploading_artifact", "finalizing"];
    let rank = |stage: &str| names.iter().position(|name| *name == stage).expect("a stage of the definition");
    let stages: Vec<_> = told.iter().filter_map(|event| event.stage.as_deref().map(rank)).collect();
    assert!(stages.is_sorted() && !stages.is_empty(), "{stages:?}");
    worker.stop().await;
}
