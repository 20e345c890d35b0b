//! A server in a process of its own, on a database of its own, with people signed in.

use super::{failed, unexpected};
use crate::{auth::session_store::StoredSessions, config::Config, store};
use leasehold_app::ssr::SESSION_USER;
use leasehold_queue::{Engine, Scope, params::NewUser};
use leasehold_types::Problem;
use scratch_postgres::{ScratchPostgres, StartOptions};
use serde_json::json;
use std::{net::SocketAddr, path::PathBuf, process::Stdio, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
    process::{Child, ChildStdout, Command},
};
use tower_sessions::{
    SessionStore,
    session::{Id, Record},
};

/// As many streams as one session may have, with room for one more.
const PER_SESSION: usize = 19;

pub struct House {
    pub address: SocketAddr,
    cookies: Vec<String>,
    server: Child,
    _said: Lines<BufReader<ChildStdout>>,
    _folder: Folder,
    _scratch: Option<ScratchPostgres>,
}

impl House {
    pub async fn open(database: &str, postgres: Option<&str>, streams: usize) -> Result<Self, Problem> {
        let folder = Folder::new()?;
        let (url, scratch) = match (database, postgres) {
            ("postgres", Some(url)) => (url.to_owned(), None),
            ("postgres", None) => {
                let scratch = ScratchPostgres::start(StartOptions { fsync: true });
                let scratch = scratch.map_err(|error| failed("start a Postgres", error))?;
                (scratch.url(), Some(scratch))
            }
            _ => (format!("sqlite:{}", folder.0.join("bench.db").display()), None),
        };
        let config = Config::load(vec![("JOBS_DB_URL", url.clone())])?;
        let cookies = people(&store::engine(&config).await?, streams.div_ceil(PER_SESSION)).await?;
        let (server, said, address) = start(&url, &folder).await?;
        Ok(Self { address, cookies, server, _said: said, _folder: folder, _scratch: scratch })
    }

    pub fn cookie_of(&self, stream: usize) -> &str {
        &self.cookies[(stream / PER_SESSION) % self.cookies.len()]
    }

    /// Through the server, as a page's form would; the new job's number.
    pub async fn enqueue(&self) -> Result<i64, Problem> {
        let body = "slug=bench&definition_key=demo-flaky&payload_json=%7B%22fail_first%22%3A0%7D";
        let (address, cookie) = (self.address, &self.cookies[0]);
        let request = format!(
            "POST /do/enqueue HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\nconnection: close\r\naccept: text/html\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = exchange(address, &request).await.map_err(|error| failed("enqueue a job", error))?;
        let place = answer.lines().find_map(|line| line.strip_prefix("location: "));
        let number =
            place.and_then(|place| place.trim().rsplit('/').next()).and_then(|n| n.split('?').next());
        number.and_then(|number| number.parse().ok()).ok_or_else(|| unexpected("a job was not taken"))
    }

    pub fn memory_kib(&self) -> Result<u64, Problem> {
        let id = self.server.id().ok_or_else(|| unexpected("the server has ended"))?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status"));
        let status = status.map_err(|error| failed("read the server's memory", error))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok());
        kib.ok_or_else(|| unexpected("the kernel does not tell the server's memory"))
    }
}

async fn exchange(address: SocketAddr, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// A tenant, a user, and so many sessions; the cookies.
async fn people(engine: &Arc<Engine>, sessions: usize) -> Result<Vec<String>, Problem> {
    let scope = Scope::system("bench");
    engine.create_tenant(&scope, "Bench", Some("bench"), None).await?;
    let user = NewUser {
        email: "bench@localhost".into(),
        name: "Bench".into(),
        // Nobody signs in with it.
        password_hash: "-".into(),
        super_admin: true,
        membership: None,
    };
    let user = engine.store().create_user(&scope, user).await?;
    let kept = StoredSessions(engine.clone());
    let mut cookies = Vec::new();
    for _ in 0..sessions {
        let data = [(SESSION_USER.to_owned(), json!(user.id))].into();
        let expiry_date = engine.now().plus(Duration::from_secs(3_600)).datetime();
        let mut record = Record { id: Id::default(), data, expiry_date };
        kept.create(&mut record).await.map_err(|error| failed("sign in", error))?;
        cookies.push(format!("leasehold={}", record.id));
    }
    Ok(cookies)
}

async fn start(
    url: &str,
    folder: &Folder,
) -> Result<(Child, Lines<BufReader<ChildStdout>>, SocketAddr), Problem> {
    let program = std::env::current_exe().map_err(|error| failed("find itself", error))?;
    let mut server = Command::new(program)
        .args(["serve", "--addr", "127.0.0.1:0", "--workers", "0"])
        .env("JOBS_DB_URL", url)
        // All its clients come from here.
        .env("JOBS_MAX_CONNECTIONS_PER_ADDRESS", "0")
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed("start a server", error))?;
    let stdout = server.stdout.take().ok_or_else(|| unexpected("the server says nothing"))?;
    let mut said = BufReader::new(stdout).lines();
    while let Some(line) = said.next_line().await.map_err(|error| failed("hear the server", error))? {
        if let Some((_, address)) = line.split_once("listening on http://") {
            let address = address.trim().parse().map_err(|error| failed("find the server", error))?;
            return Ok((server, said, address));
        }
    }
    Err(unexpected("the server did not start"))
}

/// Removed with everything in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Problem> {
        let path = std::env::temp_dir().join(format!("leasehold-bench-{}", uuid::Uuid::now_v7().simple()));
        std::fs::create_dir_all(&path).map_err(|error| failed("make a folder", error))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "a folder of the measurement is left behind");
        }
    }
}
