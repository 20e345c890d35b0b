//! Whether this machine can run a command's program, and what to do when it cannot.

use super::{CommandBook, CommandSpec, Program};
use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
};

/// What keeps a program from running; none when nothing does, as far as can be seen from outside.
pub fn obstacle(program: &Path) -> Option<String> {
    let path = program.display();
    let found = match program.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(format!(
                "{path} does not exist on this machine: install it, or correct `program` in commands.toml"
            ));
        }
        Err(error) => return Some(format!("{path} cannot be looked at: {error}")),
    };
    if !found.is_file() {
        return Some(format!("{path} is not a file: name the program itself in commands.toml"));
    }
    if found.permissions().mode() & 0o111 == 0 {
        return Some(format!("{path} is not executable: run `chmod +x {path}`"));
    }
    let interpreter = interpreter(program)?;
    let missing = !Path::new(&interpreter).exists();
    missing.then(|| {
        format!("{path} begins with “#!{interpreter}”, which does not exist on this machine: install it, or correct that line")
    })
}

/// The program a script's first line names.
fn interpreter(program: &Path) -> Option<String> {
    let mut line = Vec::new();
    let file = std::fs::File::open(program).ok()?;
    BufReader::new(std::io::Read::take(file, 256)).read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8(line).ok()?;
    line.strip_prefix("#!")?.split_whitespace().next().map(str::to_owned)
}

impl CommandSpec {
    /// Why this machine cannot run it, if so.
    pub fn obstacle(&self) -> Option<String> {
        if let Program::At(path) = &self.program
            && let Some(why) = obstacle(path)
        {
            return Some(why);
        }
        let folder = self.working_dir.as_ref().filter(|folder| !folder.is_dir())?;
        Some(format!(
            "its working_dir {} is no folder of this machine: make it, or correct commands.toml",
            folder.display()
        ))
    }
}

impl CommandBook {
    /// The commands this machine cannot run, and why.
    pub fn obstacles(&self) -> Vec<(&str, String)> {
        self.iter().filter_map(|command| Some((command.key.as_str(), command.obstacle()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_obstacle_names_the_path_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("import.sh");
        assert!(obstacle(&script).unwrap().contains("import.sh does not exist"));
        std::fs::write(&script, "#!/nowhere/sh -e\necho hi\n").unwrap();
        let said = obstacle(&script).unwrap();
        assert!(said.contains(&format!("chmod +x {}", script.display())), "{said}");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(obstacle(&script).unwrap().contains("#!/nowhere/sh"));
        std::fs::write(&script, "#!/bin/sh\necho hi\n").unwrap();
        assert_eq!(obstacle(&script), None);
        assert!(obstacle(folder.path()).unwrap().contains("not a file"));
    }
}
