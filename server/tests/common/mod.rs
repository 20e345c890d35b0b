//! The real binary on a database of its own, and just enough HTTP to talk to it.

#![expect(dead_code, reason = "each test file uses its own part of this")]

mod postgres;
pub mod program;
pub mod python;
pub mod remote;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

pub const PASSWORD: &str = "correct horse battery";

/// A folder with a database in it, and the binary to use on it.
pub struct House {
    pub dir: TempDir,
    /// Another database than the file in the folder.
    db_url: Option<String>,
}

impl House {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), db_url: None }
    }

    pub fn on_postgres() -> Self {
        Self { db_url: Some(postgres::fresh_database()), ..Self::new() }
    }

    /// On a database that somebody else made.
    pub fn on(url: String) -> Self {
        Self { db_url: Some(url), ..Self::new() }
    }

    /// As the binary finds it.
    pub fn db_url(&self) -> String {
        let file = self.dir.path().join("data/leasehold.db");
        self.db_url.clone().unwrap_or_else(|| format!("sqlite:{}", file.display()))
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("JOBS_") || name == "DATABASE_URL" || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        if let Some(url) = &self.db_url {
            command.env("JOBS_DB_URL", url);
        }
        command.current_dir(self.dir.path()).args(args);
        command
    }

    pub fn run(&self, args: &[&str], input: &str) -> Output {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may end (a usage error) before it reads.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Runs with `--json` and returns what it answered.
    pub fn json(&self, args: &[&str], input: &str) -> serde_json::Value {
        let output = self.run(&[args, &["--json"]].concat(), input);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Changes the database behind the server's back.
    pub fn sql(&self, statement: &str) {
        let file = self.dir.path().join("data/leasehold.db");
        let url = self.db_url.clone().unwrap_or_else(|| format!("sqlite:{}", file.display()));
        postgres::execute(&url, statement);
    }

    /// Everything the database holds: the bytes of its files, or every row as text.
    pub fn database_content(&self) -> Vec<u8> {
        if let Some(url) = &self.db_url {
            return postgres::dump(url).into_bytes();
        }
        let files = std::fs::read_dir(self.dir.path().join("data")).unwrap();
        files.filter_map(|file| std::fs::read(file.unwrap().path()).ok()).flatten().collect()
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        log_of(self.dir.path())
    }

    pub fn serve(&self, env: &[(&str, &str)]) -> Serving {
        let mut command = self.command(&["serve", "--addr", "127.0.0.1:0"]);
        command.envs(env.iter().copied());
        self.start(command)
    }

    /// With so few file descriptors.
    pub fn serve_limited(&self, files: u32) -> Serving {
        let plain = self.command(&["serve", "--addr", "127.0.0.1:0"]);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")]).arg(plain.get_program());
        command.args(plain.get_args()).current_dir(self.dir.path());
        self.start(command)
    }

    pub fn start(&self, mut command: Command) -> Serving {
        let log = std::fs::File::create(self.dir.path().join("serve.log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut setup_link = None;
        let addr = loop {
            let mut line = String::new();
            if stdout.read_line(&mut line).unwrap() == 0 {
                panic!("the server ended: {}", log_of(self.dir.path()));
            }
            if let Some(link) = line.trim().strip_prefix("Set up Leasehold: ") {
                setup_link = Some(link.to_owned());
            }
            if let Some((_, addr)) = line.trim().split_once("listening on http://") {
                break addr.parse().unwrap();
            }
        };
        Serving { child, _stdout: stdout, addr, setup_link }
    }
}

/// A script that can be run, and its path.
pub fn script(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Looks until there is something, for a while.
pub fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never happened: {what}");
}

pub fn log_of(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("serve.log")).unwrap_or_default()
}

pub struct Serving {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    pub addr: SocketAddr,
    pub setup_link: Option<String>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Ended already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// `name=value` of the session's cookie it sets.
    pub fn cookie(&self) -> Option<String> {
        self.cookies().find(|cookie| !cookie.contains("leasehold-device="))
    }

    /// The same of the cookie by which a browser is known again.
    pub fn device(&self) -> Option<String> {
        self.cookies().find(|cookie| cookie.contains("leasehold-device="))
    }

    fn cookies(&self) -> impl Iterator<Item = String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let set = lines.filter(|(key, _)| key.eq_ignore_ascii_case("set-cookie"));
        set.filter_map(|(_, value)| value.split(';').next().map(str::to_owned))
    }
}

impl Serving {
    pub fn path_of_setup_link(&self) -> String {
        let link = self.setup_link.as_deref().expect("a setup link was printed");
        link.strip_prefix(&format!("http://{}", self.addr)).expect("the link leads here").to_owned()
    }

    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.request("GET", path, headers, "")
    }

    /// A form, posted as a browser on this very page would.
    pub fn post(&self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let form: Vec<_> = fields.iter().map(|(k, v)| format!("{k}={}", encode(v))).collect();
        let own = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
        self.request("POST", path, &[&own, headers].concat(), &form.join("&"))
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.request_as(&self.addr.to_string(), method, path, headers, body)
    }

    /// A request under another host's name.
    pub fn request_as(
        &self,
        host: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut stream = self.send(host, method, path, headers, body);
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// An open stream whose lines can be read as they come.
    pub fn stream(&self, path: &str, headers: &[(&str, &str)]) -> BufReader<TcpStream> {
        BufReader::new(self.send(&self.addr.to_string(), "GET", path, headers, ""))
    }

    /// Sends a request whose answer is read, or not, by the caller.
    pub fn send(
        &self,
        host: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let more: String = headers.iter().map(|(k, v)| format!("{k}: {v}\r\n")).collect();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\n");
        let request = format!(
            "{head}host: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n{more}\r\n{body}"
        );
        // A request that is refused early may not be read to its end; the answer tells. Nothing else may go wrong.
        if let Err(error) = stream.write_all(request.as_bytes()) {
            assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
        }
        stream
    }

    /// Signs in and returns the session cookie.
    pub fn sign_in(&self, email: &str) -> String {
        let answer =
            self.post("/do/sign_in", &[("email", email), ("password", PASSWORD), ("next", "/")], &[]);
        answer.cookie().unwrap_or_else(|| panic!("no session: {} {}", answer.head, answer.body))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// How it ended, and how long that took.
    pub fn ended(&mut self, within: Duration) -> (ExitStatus, Duration) {
        let began = Instant::now();
        while began.elapsed() < within {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, began.elapsed());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("still running after {within:?}");
    }
}

/// Reads lines until one begins so; fails when the stream ends first.
pub fn read_until(stream: &mut impl BufRead, beginning: &str) -> String {
    let mut read = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream ended after: {read}");
        if line.starts_with(beginning) {
            return line.trim_end().to_owned();
        }
        read += &line;
    }
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}
