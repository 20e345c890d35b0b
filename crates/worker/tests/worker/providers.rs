//! Providers of the real kind: a chat over HTTP, and pictures read by a program.

use leasehold_queue::units::UnitOutcome;
use leasehold_worker::ProviderBook;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const GUARD: &str = env!("CARGO_BIN_EXE_leasehold-guard");

fn book(settings: &str) -> ProviderBook {
    ProviderBook::parse(&format!("[providers.p]\n{settings}"), Path::new("test"), Path::new(GUARD)).unwrap()
}

/// Answers one request with `answer`; what it was sent can be looked at.
async fn model(answer: &'static str) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(String::new()));
    let notes = asked.clone();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 64 * 1024];
        let mut read = 0;
        while !notes.lock().unwrap().ends_with('}') {
            read += stream.read(&mut request[read..]).await.unwrap();
            *notes.lock().unwrap() = String::from_utf8_lossy(&request[..read]).into_owned();
        }
        // In pieces, as a model speaks.
        for piece in answer.as_bytes().chunks(40) {
            stream.write_all(piece).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    (base, asked)
}

async fn ask(base: &str, more: &str) -> (UnitOutcome, Vec<usize>) {
    let settings =
        format!("type = \"llm\"\nengine = \"openai\"\nmodel = \"m-1\"\nbase_url = \"{base}\"\n{more}");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = heard.clone();
    let request = json!({"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9});
    let provider = book(&settings).get("p").unwrap();
    let outcome = provider.call(&request, &move |n| notes.lock().unwrap().push(n)).await;
    let heard = heard.lock().unwrap().clone();
    (outcome, heard)
}

#[tokio::test]
async fn a_streamed_answer_is_heard_as_it_comes() {
    let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
        data: {\"model\":\"m-1\",\"choices\":[{\"delta\":{\"content\":\"Good \"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"morning\"},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"total_tokens\":7}}\n\ndata: [DONE]\n\n";
    let (base, asked) = model(stream).await;
    let (outcome, heard) = ask(&base, "").await;
    let mut answer = outcome.unwrap();
    let first_token = answer.as_object_mut().unwrap().remove("first_token_ms").unwrap();
    assert!(first_token.is_u64(), "how long the first word took: {first_token}");
    assert_eq!(answer, json!({"text": "Good morning", "model": "m-1", "usage": {"total_tokens": 7}}));
    assert_eq!(heard.last(), Some(&12));
    let asked = asked.lock().unwrap().clone();
    assert!(asked.starts_with("POST /v1/chat/completions HTTP/1.1"), "{asked}");
    let body: Value = serde_json::from_str(asked.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        (&body["model"], &body["stream"], &body["max_tokens"]),
        (&json!("m-1"), &json!(true), &json!(9))
    );
    assert_eq!(body["stream_options"], json!({"include_usage": true}), "else nobody says what it used");
    assert!(!asked.to_lowercase().contains("authorization"));
}

#[tokio::test]
async fn a_whole_answer_will_do_too() {
    let (base, _) = model(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"Hi\"}}]}",
    )
    .await;
    assert_eq!(ask(&base, "").await.0.unwrap()["text"], "Hi");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer() {
    let (base, _) = model(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
         data: {\"choices\":[{\"delta\":{\"content\":\"Half an\"}}]}\n\n",
    )
    .await;
    let error = ask(&base, "").await.0.unwrap_err();
    assert_eq!((error.code.as_str(), error.retryable), ("provider_unreachable", true));
}

#[tokio::test]
async fn a_busy_provider_says_when_to_come_back() {
    let (base, _) =
        model("HTTP/1.1 429 Too Many\r\nretry-after: 4\r\nconnection: close\r\n\r\nslow down").await;
    let error = ask(&base, "").await.0.unwrap_err();
    assert_eq!((error.code.as_str(), error.retry_after), ("rate_limited", Some(Duration::from_secs(4))));
}

#[tokio::test]
async fn a_key_goes_into_its_header_and_nowhere_else() {
    // Set for every process by the system; any variable serves as a key here.
    let key = std::env::var("PATH").unwrap();
    let said = format!("HTTP/1.1 401 No\r\nconnection: close\r\n\r\nbad key {key}");
    let (base, asked) = model(said.leak()).await;
    let error = ask(&base, "api_key_env = \"PATH\"").await.0.unwrap_err();
    assert!(!error.retryable && !error.message.contains(&key) && error.message.contains("***"), "{error:?}");
    assert!(asked.lock().unwrap().contains(&format!("Bearer {key}")));
}

#[tokio::test]
async fn a_missing_key_is_said_before_anybody_is_asked() {
    let error =
        ask("http://127.0.0.1:9", "api_key_env = \"LEASEHOLD_TEST_NO_SUCH_KEY\"").await.0.unwrap_err();
    assert_eq!((error.code.as_str(), error.retryable), ("provider_key_missing", false));
}

#[tokio::test]
async fn nobody_there_may_be_there_later() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = ask(&format!("http://{free}"), "").await.0.unwrap_err();
    assert_eq!((error.code.as_str(), error.retryable), ("provider_unreachable", true));
}

fn reader(program: &Path, folder: &Path, timeout: u64) -> ProviderBook {
    book(&format!(
        "type = \"ocr\"\nengine = \"tesseract\"\nprogram = \"{}\"\nfolder = \"{}\"\ntimeout_seconds = {timeout}",
        program.display(),
        folder.display()
    ))
}

/// A program in tesseract's place.
fn script(folder: &Path, text: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("reader.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn a_page_is_read_without_shell_or_environment() {
    let folder = tempfile::tempdir().unwrap();
    let scans = folder.path().join("scans");
    std::fs::create_dir(&scans).unwrap();
    std::fs::write(scans.join("a b;c.png"), "x").unwrap();
    let program = script(folder.path(), "/bin/cat \"$1\"; echo \" $2 $3 $4 home=$HOME\"");
    let provider = reader(&program, &scans, 20).get("p").unwrap();
    let read = provider.call(&json!({"file": "a b;c.png"}), &|_| {}).await.unwrap();
    assert_eq!(read["text"], "x stdout -l eng home=");
    let given = provider.call(&json!({"image_base64": "aGVsbG8="}), &|_| {}).await.unwrap();
    assert_eq!(given["text"], "hello stdout -l eng home=");
}

#[tokio::test]
async fn a_page_outside_the_folder_does_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let scans = folder.path().join("scans");
    std::fs::create_dir(&scans).unwrap();
    std::fs::write(folder.path().join("secret"), "x").unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret"), scans.join("link")).unwrap();
    let provider = reader(&script(folder.path(), "exit 0"), &scans, 20).get("p").unwrap();
    let absolute = folder.path().join("secret");
    for name in ["../secret", absolute.to_str().unwrap(), "link", "", "ghost.png"] {
        let error = provider.call(&json!({"file": name}), &|_| {}).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.retryable), ("unreadable_page", false), "{name}");
    }
}

#[tokio::test]
async fn a_reader_that_fails_or_hangs_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.png"), "x").unwrap();
    let failing = reader(&script(folder.path(), "echo 'not a picture' >&2; exit 3"), folder.path(), 20);
    let error = failing.get("p").unwrap().call(&json!({"file": "a.png"}), &|_| {}).await.unwrap_err();
    assert!(error.message.contains("exit code 3. not a picture") && !error.retryable, "{error:?}");
    let pid_file = folder.path().join("pid");
    let hanging = script(folder.path(), &format!("echo $$ > {}; exec sleep 600", pid_file.display()));
    let hanging = reader(&hanging, folder.path(), 1).get("p").unwrap();
    let error = hanging.call(&json!({"file": "a.png"}), &|_| {}).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.retryable), ("ocr_timeout", true));
    let pid = crate::house::number_in(&pid_file).await;
    crate::house::eventually("the reader is dead", || !crate::house::lives(pid)).await;
}

/// Letters of five by seven dots, eight pixels each: a picture that any reader can read.
fn picture_of(text: &str) -> Vec<u8> {
    const DOT: usize = 8;
    let rows = |letter: char| -> [u8; 7] {
        match letter {
            'A' => [0b00100, 0b01010, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001],
            'E' => [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],
            'H' => [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
            'L' => [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111],
            'T' => [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100],
            _ => [0; 7],
        }
    };
    let (width, height) = ((text.len() * 6 + 6) * DOT, 15 * DOT);
    let mut pixels = vec![255; width * height];
    for (place, letter) in text.chars().enumerate() {
        for (y, row) in rows(letter).into_iter().enumerate() {
            for x in (0..5).filter(|x| row & (0b10000 >> x) != 0) {
                for line in 0..DOT {
                    let from = ((y + 4) * DOT + line) * width + (3 + place * 6 + x) * DOT;
                    pixels[from..from + DOT].fill(0);
                }
            }
        }
    }
    [format!("P5 {width} {height} 255\n").into_bytes(), pixels].concat()
}

#[tokio::test]
async fn tesseract_reads_a_picture() {
    let program = Path::new("/usr/bin/tesseract");
    if !program.exists() {
        eprintln!("left out: there is no tesseract here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page.pgm"), picture_of("LATE HEAT")).unwrap();
    let provider = reader(program, folder.path(), 60).get("p").unwrap();
    let read = provider.call(&json!({"file": "page.pgm"}), &|_| {}).await.unwrap();
    assert_eq!(read["text"], "LATE HEAT");
    std::fs::write(folder.path().join("note.txt"), "no picture").unwrap();
    let error = provider.call(&json!({"file": "note.txt"}), &|_| {}).await.unwrap_err();
    assert_eq!(error.code, "unreadable_page", "{error:?}");
}
