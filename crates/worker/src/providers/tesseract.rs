//! Reading pictures with the program `tesseract`: no shell, no inherited environment, and under the same guardian as
//! commands, so that it ends with its call, its job and its worker.
//!
//! A page is a picture in the request itself (`image_base64`), or the name of a file in the provider's folder. A name
//! can not lead out of that folder: what a payload says must never open another file of the machine.

use super::{Heard, Provider};
use crate::guard::{self, Limits, strays};
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use leasehold_queue::units::{UnitError, UnitOutcome};
use leasehold_types::ErrorClass;
use serde_json::{Value, json};
use std::{
    io::Write,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::UnixStream,
    process::Command,
    time::timeout,
};

/// So much text is on no page.
const LONGEST_TEXT: u64 = 4 * 1024 * 1024;

pub struct Tesseract {
    pub program: PathBuf,
    pub languages: String,
    /// Where pages named by file lie; none = no page may be named.
    pub folder: Option<PathBuf>,
    pub timeout: Duration,
    pub guard_program: PathBuf,
}

#[async_trait]
impl Provider for Tesseract {
    async fn call(&self, request: &Value, heard: &Heard) -> UnitOutcome {
        let page = self.page(request)?;
        let text = timeout(self.timeout, self.read(page.path())).await.map_err(|_| {
            let message = format!("Reading took longer than {} seconds.", self.timeout.as_secs());
            UnitError::passing("ocr_timeout", ErrorClass::Timeout, message)
        })??;
        heard(text.chars().count());
        Ok(json!({"text": text.trim_end(), "model": "tesseract"}))
    }
}

/// A page to be read; one that came with the request is removed after it.
enum Page {
    Named(PathBuf),
    Given(NamedTempFile),
}

impl Page {
    fn path(&self) -> &Path {
        match self {
            Self::Named(path) => path,
            Self::Given(file) => file.path(),
        }
    }
}

fn unreadable(message: impl Into<String>) -> UnitError {
    UnitError::permanent("unreadable_page", ErrorClass::ValidationError, message)
}

fn cannot(what: &str, error: impl std::fmt::Display) -> UnitError {
    let message = format!("The worker cannot {what}: {error}.");
    UnitError::passing("ocr_unavailable", ErrorClass::DependencyUnavailable, message)
}

impl Tesseract {
    fn page(&self, request: &Value) -> Result<Page, UnitError> {
        let word = |name: &str| request.get(name).and_then(Value::as_str);
        match (word("image_base64"), word("file")) {
            (Some(picture), _) => {
                let bytes =
                    STANDARD.decode(picture).map_err(|_| unreadable("The page's picture is not base64."))?;
                let mut file = NamedTempFile::new().map_err(|error| cannot("keep the picture", error))?;
                file.write_all(&bytes).map_err(|error| cannot("keep the picture", error))?;
                Ok(Page::Given(file))
            }
            (None, Some(name)) => self.named(name).map(Page::Named),
            (None, None) => Err(unreadable("The page has neither a picture nor the name of a file.")),
        }
    }

    fn named(&self, name: &str) -> Result<PathBuf, UnitError> {
        let gone = || unreadable("There is no such page in the provider's folder.");
        let folder =
            self.folder.as_ref().ok_or_else(|| unreadable("This provider has no folder of pages."))?;
        let folder = folder.canonicalize().map_err(|error| cannot("open its folder of pages", error))?;
        let file = folder.join(name).canonicalize().map_err(|_| gone())?;
        if !file.starts_with(&folder) || !file.is_file() {
            return Err(gone());
        }
        Ok(file)
    }

    async fn read(&self, page: &Path) -> Result<String, UnitError> {
        // While this end is open the guardian lets the program run; dropped with the call, it kills it.
        let (ours, theirs) = UnixStream::pair().map_err(|error| cannot("start a guardian", error))?;
        let theirs = theirs.into_std().map_err(|error| cannot("start a guardian", error))?;
        theirs.set_nonblocking(false).map_err(|error| cannot("start a guardian", error))?;
        let mut command = Command::new(&self.guard_program);
        command
            .args(guard::words(&Limits::default()))
            .arg(&self.program)
            .arg(page)
            .args(["stdout", "-l", &self.languages])
            .env_clear()
            // One page, one core: the provider's concurrency says how many pages.
            .env("OMP_THREAD_LIMIT", "1")
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = strays::spawn(&mut command).map_err(|error| cannot("start a guardian", error))?;
        drop(command);
        let (text, complaints) = tokio::join!(all_of(child.stdout.take()), all_of(child.stderr.take()));
        let mut said = String::new();
        let _ = ours.take(LONGEST_TEXT).read_to_string(&mut said).await;
        let _ = child.wait().await;
        match said.lines().find_map(|line| line.strip_prefix("exit ")) {
            Some("0") => Ok(text),
            Some(code) => {
                let why = complaints.lines().last().unwrap_or_default();
                Err(unreadable(format!("tesseract ended with exit code {code}. {why}")))
            }
            None => Err(cannot("run tesseract", said.lines().last().unwrap_or("it was killed"))),
        }
    }
}

async fn all_of(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(LONGEST_TEXT).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
