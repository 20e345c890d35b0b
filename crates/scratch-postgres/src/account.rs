//! Which account runs the server: Postgres refuses to run as root, so root hands over to `postgres`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::binaries::INSTALL;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Account {
    /// The user who runs this process.
    Own,
    /// The system account of Debian's package, by its numbers.
    Postgres { uid: u32, gid: u32 },
}

impl Account {
    pub(crate) fn for_server() -> Result<Self, String> {
        if number_from_id(&["-u"])? != 0 {
            return Ok(Self::Own);
        }
        let missing =
            |_| format!("as root, Postgres must run as the user `postgres`, who does not exist: {INSTALL}");
        let uid = number_from_id(&["-u", "postgres"]).map_err(missing)?;
        let gid = number_from_id(&["-g", "postgres"]).map_err(missing)?;
        Ok(Self::Postgres { uid, gid })
    }

    /// A command that runs `program` as this account.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = match self {
            Self::Own => Command::new(program),
            Self::Postgres { .. } => {
                let mut handed_over = Command::new("runuser");
                handed_over.args(["-u", "postgres", "--"]).arg(program);
                handed_over
            }
        };
        // Settings of the caller's own Postgres must not leak into the throw-away one.
        for name in ["PGDATA", "PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGOPTIONS"] {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C.UTF-8");
        command
    }

    pub(crate) fn own(self, folder: &Path) -> Result<(), String> {
        let problem = |e| format!("preparing {}: {e}", folder.display());
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(problem)?;
        match self {
            Self::Own => Ok(()),
            Self::Postgres { uid, gid } => chown(folder, Some(uid), Some(gid)).map_err(problem),
        }
    }
}

fn number_from_id(arguments: &[&str]) -> Result<u32, String> {
    let output = Command::new("id").args(arguments).output().map_err(|e| format!("running id: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("id {} gave no number", arguments.join(" ")))
}
