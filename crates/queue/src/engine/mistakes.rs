//! What is wrong with the items of one call, gathered into one answer.

use leasehold_types::Problem;

/// Fields named in one answer; a caller with more mistakes has seen the pattern by then.
const MOST_NAMED: usize = 50;

#[derive(Default)]
pub struct Mistakes {
    gathered: Option<Problem>,
    items: usize,
}

impl Mistakes {
    /// The item at `place` is wrong for this reason.
    pub fn add(&mut self, place: usize, problem: Problem) {
        self.items += 1;
        let item = format!("jobs[{place}]");
        let mut gathered = self.gathered.take().unwrap_or_else(|| Problem::new(problem.code, ""));
        let named = if problem.errors.is_empty() {
            vec![(item, problem.detail)]
        } else {
            problem.errors.into_iter().map(|e| (format!("{item}.{}", e.field), e.message)).collect()
        };
        for (field, message) in named {
            if gathered.errors.len() < MOST_NAMED {
                gathered = gathered.with_field(field, message);
            }
        }
        self.gathered = Some(gathered);
    }

    /// The code is that of the first mistake.
    pub fn into_result(self) -> Result<(), Problem> {
        let Some(mut problem) = self.gathered else { return Ok(()) };
        problem.detail = match self.items {
            1 => "One of the jobs is not right. Nothing was enqueued.".to_owned(),
            items => format!("{items} of the jobs are not right. Nothing was enqueued."),
        };
        Err(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::ProblemCode;

    #[test]
    fn every_mistake_is_named_by_its_place() {
        let mut wrong = Mistakes::default();
        wrong.add(3, Problem::invalid("priority", "No."));
        wrong.add(7, Problem::new(ProblemCode::DefinitionInactive, "Off."));
        let problem = wrong.into_result().unwrap_err();
        let fields: Vec<_> = problem.errors.iter().map(|e| e.field.as_str()).collect();
        assert_eq!(fields, ["jobs[3].priority", "jobs[7]"]);
        assert_eq!(problem.code, ProblemCode::InvalidInput);
        assert!(problem.detail.starts_with("2 of the jobs"));
        assert!(Mistakes::default().into_result().is_ok());
    }
}
