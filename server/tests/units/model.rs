//! A language model that takes note of when it was asked, and for what.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

#[derive(Clone)]
pub struct Asked {
    pub at: Instant,
    /// The last message.
    pub text: String,
}

pub struct Model {
    pub addr: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Model {
    /// Answers after `delay`, repeating what it was told in capitals.
    pub fn start(delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (addr, asked) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<Asked>>>::default());
        let notes = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let notes = notes.clone();
                thread::spawn(move || answer(stream, &notes, delay));
            }
        });
        Self { addr, asked }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn provider(&self, requests_per_second: f64) -> String {
        format!(
            "[providers.local-ocr]\ntype = \"ocr\"\nengine = \"local\"\nrequests_per_second = 1000\nmax_concurrency = 20\n\
             [providers.chat]\ntype = \"llm\"\nengine = \"openai\"\nbase_url = \"http://{}\"\nmodel = \"m\"\n\
             requests_per_second = {requests_per_second:?}\nmax_concurrency = 20\n",
            self.addr
        )
    }
}

fn answer(mut stream: TcpStream, notes: &Mutex<Vec<Asked>>, delay: Duration) {
    let mut request = Vec::new();
    let mut arrived = None;
    let body = loop {
        let mut piece = [0; 16 * 1024];
        match stream.read(&mut piece) {
            // A client that was killed says nothing more.
            Ok(0) | Err(_) => return,
            Ok(n) => request.extend_from_slice(&piece[..n]),
        }
        arrived.get_or_insert_with(Instant::now);
        if let Some(body) = whole_body(&request) {
            break body;
        }
    };
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let text = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    notes.lock().unwrap().push(Asked { at: arrived.unwrap(), text: text.clone() });
    thread::sleep(delay);
    let said = serde_json::json!({"choices": [{"message": {"content": text.to_uppercase()}}]}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{said}", said.len());
}

fn whole_body(request: &[u8]) -> Option<Vec<u8>> {
    let end = request.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse::<usize>().ok()?;
    (request.len() >= end + length).then(|| request[end..end + length].to_vec())
}
