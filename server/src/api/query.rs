//! What stands behind the `?` where names may repeat or are made up by the caller (`status=…&status=…`,
//! `payload.rows=3`). Mistakes are named like everywhere; names nobody asked for are refused.

use super::Refusal;
use axum::{extract::FromRequestParts, http::request::Parts};
use leasehold_types::Problem;
use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

const LONGEST_VALUE: usize = 1_000;

#[derive(Debug)]
pub struct QueryPairs(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for QueryPairs {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default())?)
    }
}

impl QueryPairs {
    /// Text no database can keep is refused here, so that nothing behind has to think of it.
    fn parse(query: &str) -> Result<Self, Problem> {
        let pairs = form_urlencoded::parse(query.as_bytes());
        let pairs: Vec<(String, String)> = pairs.map(|(n, v)| (n.into_owned(), v.into_owned())).collect();
        match pairs
            .iter()
            .find(|(name, value)| (name.len() + value.len()) > LONGEST_VALUE || has_nul(name, value))
        {
            Some((name, _)) => {
                let field: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
                Err(Problem::invalid(field, "It must have at most 1,000 bytes and no NUL."))
            }
            None => Ok(Self(pairs)),
        }
    }

    /// All values of a name, each of which may be a list with commas.
    pub fn many<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Vec<T>, Problem> {
        let taken = self.take(|known| known == name);
        let words = taken.iter().flat_map(|(_, value)| value.split(','));
        words.map(|word| read(name, word)).collect()
    }

    /// Words, of which an empty one counts as none.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        Ok(self.one::<String>(name)?.filter(|text| !text.is_empty()))
    }

    /// The only value of a name.
    pub fn one<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Option<T>, Problem> {
        let taken = self.take(|known| known == name);
        match &taken[..] {
            [] => Ok(None),
            [(_, value)] => read(name, value).map(Some),
            _ => Err(Problem::invalid(name, "It was given more than once.")),
        }
    }

    pub fn number<T>(&mut self, name: &str, allowed: RangeInclusive<T>) -> Result<Option<T>, Problem>
    where
        T: FromStr<Err: Display> + PartialOrd + Display,
    {
        let value = self.one::<T>(name)?;
        if value.as_ref().is_some_and(|value| !allowed.contains(value)) {
            let message = format!("It must be between {} and {}.", allowed.start(), allowed.end());
            return Err(Problem::invalid(name, message));
        }
        Ok(value)
    }

    /// Every pair whose name begins so, without the beginning.
    pub fn beginning(&mut self, prefix: &str) -> Vec<(String, String)> {
        let taken = self.take(|known| known.starts_with(prefix));
        taken.into_iter().map(|(name, value)| (name[prefix.len()..].to_owned(), value)).collect()
    }

    /// A filter with a typing error must not answer with everything.
    pub fn nothing_else(self) -> Result<(), Problem> {
        match self.0.into_iter().next() {
            Some((name, _)) => Err(Problem::invalid(name, "There is no parameter of this name.")),
            None => Ok(()),
        }
    }

    fn take(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let (taken, left) = std::mem::take(&mut self.0).into_iter().partition(|(name, _)| wanted(name));
        self.0 = left;
        taken
    }
}

fn has_nul(name: &str, value: &str) -> bool {
    name.contains('\0') || value.contains('\0')
}

fn read<T: FromStr<Err: Display>>(name: &str, value: &str) -> Result<T, Problem> {
    value.trim().parse().map_err(|error: T::Err| Problem::invalid(name, format!("{error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::JobStatus;

    fn field(problem: Problem) -> String {
        problem.errors[0].field.clone()
    }

    #[test]
    fn names_may_repeat_where_a_list_is_meant() {
        let mut pairs = QueryPairs::parse("status=queued,running&status=failed&limit=5").unwrap();
        let statuses = pairs.many::<JobStatus>("status").unwrap();
        assert_eq!(statuses, [JobStatus::Queued, JobStatus::Processing, JobStatus::Failed]);
        assert_eq!(pairs.number::<u32>("limit", 1..=10).unwrap(), Some(5));
        pairs.nothing_else().unwrap();
    }

    #[test]
    fn mistakes_are_named() {
        let mut pairs =
            QueryPairs::parse("limit=1&limit=2&status=asleep&size=11&payload.a.b=c&odd=1").unwrap();
        assert_eq!(field(pairs.one::<u32>("limit").unwrap_err()), "limit");
        assert_eq!(field(pairs.many::<JobStatus>("status").unwrap_err()), "status");
        assert_eq!(field(pairs.number::<u32>("size", 1..=10).unwrap_err()), "size");
        assert_eq!(pairs.beginning("payload."), [("a.b".to_owned(), "c".to_owned())]);
        assert_eq!(field(pairs.nothing_else().unwrap_err()), "odd");
        let mut empty = QueryPairs::parse("limit=&q=&status=").unwrap();
        assert!(empty.one::<u32>("limit").is_err() && empty.many::<JobStatus>("status").is_err());
        assert_eq!(empty.text("q").unwrap(), None);
        for wrong in ["a=%00", "%00=a", &format!("a={}", "x".repeat(1_001))] {
            assert!(QueryPairs::parse(wrong).is_err(), "{wrong}");
        }
    }
}
