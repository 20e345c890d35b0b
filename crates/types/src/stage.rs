//! Stages: the named parts of a kind of job, each covering a span of its progress bar.

use serde::{Deserialize, Serialize};

/// One stage, from where to where it moves the bar (percent).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stage {
    pub name: String,
    pub from: u8,
    pub to: u8,
}

/// The stage of that name, if the definition knows it.
pub fn find<'a>(stages: &'a [Stage], name: &str) -> Option<&'a Stage> {
    stages.iter().find(|s| s.name == name)
}

/// What is wrong with a list of stages: they must have names, be in order, not overlap and stay within 0..=100.
pub fn check(stages: &[Stage]) -> Result<(), String> {
    let mut reached = 0;
    for (i, stage) in stages.iter().enumerate() {
        let name = &stage.name;
        if name.is_empty() || name.len() > 64 {
            return Err(format!("stage {} needs a name of 1 to 64 characters", i + 1));
        }
        if stages[..i].iter().any(|s| s.name == *name) {
            return Err(format!("stage “{name}” appears twice"));
        }
        if stage.from < reached || stage.to <= stage.from || stage.to > 100 {
            return Err(format!(
                "stage “{name}” must start at {reached} or later and end after its start, by 100"
            ));
        }
        reached = stage.to;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, from: u8, to: u8) -> Stage {
        Stage { name: name.into(), from, to }
    }

    #[test]
    fn stages_come_in_order_without_overlap() {
        assert!(check(&[]).is_ok());
        assert!(check(&[stage("a", 0, 10), stage("b", 10, 100)]).is_ok());
        assert!(check(&[stage("a", 0, 10), stage("b", 5, 100)]).is_err());
        assert!(check(&[stage("a", 0, 10), stage("a", 10, 100)]).is_err());
        assert!(check(&[stage("", 0, 10)]).is_err());
        assert!(check(&[stage("a", 10, 10)]).is_err());
    }
}
