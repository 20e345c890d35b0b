//! The process that outlives us by a moment, to stop the server and remove its folder.
//!
//! `Drop` alone would not run when we are killed, and a forgotten cluster keeps its port and its disk.

use std::path::Path;
use std::process::{Child, Stdio};

use crate::account::Account;

/// Waits until its standard input closes. `$1` is the binaries' folder, `$2` the cluster's.
const SCRIPT: &str = r#"
cat >/dev/null
"$1/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1
cd / && rm -rf "$2"
"#;

#[derive(Debug)]
pub(crate) struct Guardian {
    child: Child,
}

impl Guardian {
    pub(crate) fn watch(binaries: &Path, folder: &Path, account: Account) -> Result<Self, String> {
        use std::os::unix::process::CommandExt;
        let mut command = account.command(Path::new("/bin/sh"));
        command.args(["-c", SCRIPT, "sh"]).arg(binaries).arg(folder).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own: Ctrl-C in the terminal must end us, not the one who cleans up after us.
        command.process_group(0);
        let child =
            command.spawn().map_err(|e| format!("starting the guardian of the scratch cluster: {e}"))?;
        Ok(Self { child })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The folder is gone when this returns; a failure leaves nothing we could still do.
        self.child.wait().ok();
    }
}
