//! The database's files, which hold every payload and the key that signs links: for their owner alone.

use std::{
    ffi::OsString,
    fs::{DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Anybody but the owner.
const OTHERS: u32 = 0o077;
/// As in /tmp: others may make files there, and touch only their own.
const STICKY: u32 = 0o1000;

/// Makes what is missing, readable for nobody else whatever the process's umask. SQLite gives the log and its index the
/// mode of the file.
pub(crate) fn prepare(file: &Path) -> io::Result<()> {
    if let Some(folder) = folder_of(file) {
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn folder_of(file: &Path) -> Option<&Path> {
    file.parent().filter(|folder| !folder.as_os_str().is_empty())
}

/// A path that others than its owner may use, its mode, and the mode it should have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exposed {
    pub path: PathBuf,
    pub mode: u32,
    pub wanted: u32,
}

/// What of the database others may read or change. A shared folder (`/tmp`) is as it must be.
pub fn exposed(file: &Path) -> Vec<Exposed> {
    let beside = |ending: &str| {
        let mut name = OsString::from(file);
        name.push(ending);
        PathBuf::from(name)
    };
    let files = [file.to_owned(), beside("-wal"), beside("-shm")].map(|path| (path, FILE_MODE));
    let folder = folder_of(file).map(|folder| (folder.to_owned(), FOLDER_MODE));
    let look = |(path, wanted): (PathBuf, u32)| {
        let mode = path.metadata().ok()?.mode() & 0o7777;
        (mode & OTHERS != 0 && mode & STICKY == 0).then_some(Exposed { path, mode, wanted })
    };
    folder.into_iter().chain(files).filter_map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    #[test]
    fn what_is_made_is_for_its_owner_and_what_is_wider_is_found() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a/b/jobs.db");
        prepare(&file).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!(
            (mode(&file), mode(&home.path().join("a")), mode(&home.path().join("a/b"))),
            (0o600, 0o700, 0o700)
        );
        assert_eq!(exposed(&file), []);
        std::fs::write(&file, "kept").unwrap();
        prepare(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        std::fs::set_permissions(file.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
        let found: Vec<_> = exposed(&file).into_iter().map(|e| (e.path, e.mode, e.wanted)).collect();
        let folder = file.parent().unwrap().to_owned();
        assert_eq!(found, [(folder, 0o755, 0o700), (file, 0o644, 0o600)]);
    }
}
