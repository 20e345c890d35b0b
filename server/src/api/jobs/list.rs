//! Which jobs a caller asks for, and in which order.

use crate::api::{
    QueryPairs,
    schemas::{JobState, Moment, SortOrderWord, SortWord, SourceWord},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use leasehold_queue::engine::MOST_SKIPPED;
use leasehold_types::{
    JobFilter, JobStatus, PayloadMatch, Problem,
    browse::{Browse, Mark, Sorting},
};
use utoipa::IntoParams;

const MOST_JOBS: u32 = 500;
const MOST_LINES: u32 = 1_000;
pub const USUAL_LINES: u32 = 200;
const LONGEST_SEARCH: usize = 200;
const DEEPEST_PATH: usize = 10;
const MOST_MATCHES: usize = 10;

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct ListParams {
    /// May be repeated, or a list with commas.
    #[param(value_type = Option<Vec<JobState>>)]
    status: Option<String>,
    #[param(value_type = Option<SourceWord>)]
    source: Option<String>,
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
    definition_key: Option<String>,
    owner_user_id: Option<String>,
    error_code: Option<String>,
    /// At this moment or later.
    #[param(value_type = Option<Moment>)]
    created_after: Option<String>,
    /// Before this moment.
    #[param(value_type = Option<Moment>)]
    created_before: Option<String>,
    /// A number, an id, or part of the type, the error or the correlation id.
    #[param(max_length = 200)]
    q: Option<String>,
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
    /// How many to skip. To go far, follow `cursor`, which costs the same on every page.
    #[param(minimum = 0, maximum = 10000)]
    offset: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Equals are sorted by number. `created_at` is the order in which jobs were accepted, `status` the order of a
    /// job's life.
    #[param(value_type = Option<SortWord>)]
    sort_by: Option<String>,
    #[param(value_type = Option<SortOrderWord>)]
    sort_order: Option<String>,
}

pub struct Asked {
    pub filter: JobFilter,
    pub page: Browse,
}

impl Asked {
    pub fn read(mut pairs: QueryPairs) -> Result<Self, Problem> {
        let filter = JobFilter {
            statuses: pairs.many("status")?,
            source: pairs.one("source")?,
            domain: pairs.text("domain")?,
            queue: pairs.text("queue")?,
            job_type: pairs.text("job_type")?,
            definition_key: pairs.text("definition_key")?,
            owner_user_id: pairs.text("owner_user_id")?,
            error_code: pairs.text("error_code")?,
            created_after: pairs.one("created_after")?,
            created_before: pairs.one("created_before")?,
            q: search(&mut pairs)?,
            payload: payload(&mut pairs)?,
            ..JobFilter::default()
        };
        let usual = Sorting::default();
        let sorting = Sorting {
            by: pairs.one("sort_by")?.unwrap_or(usual.by),
            order: pairs.one("sort_order")?.unwrap_or(usual.order),
        };
        let limit = pairs.number("limit", 1..=MOST_JOBS)?.unwrap_or(Browse::default().limit);
        let skip = pairs.number("offset", 0..=MOST_SKIPPED).map_err(too_far)?;
        let after = pairs.text("cursor")?.map(|cursor| open(&cursor, sorting)).transpose()?;
        pairs.nothing_else()?;
        if after.is_some() && skip.is_some_and(|skip| skip > 0) {
            return Err(Problem::invalid("offset", "Give either a cursor or an offset, not both."));
        }
        Ok(Self { filter, page: Browse { sorting, after, skip: skip.unwrap_or(0), limit } })
    }

    /// The cursor of the page after this one.
    pub fn next(&self, last: Mark) -> String {
        let Sorting { by, order } = self.page.sorting;
        let Mark { number, priority, status } = last;
        BASE64_URL_SAFE_NO_PAD.encode(format!("1 {by} {order} {number} {priority} {status}"))
    }
}

fn search(pairs: &mut QueryPairs) -> Result<Option<String>, Problem> {
    let text = pairs.text("q")?;
    match text {
        Some(text) if text.chars().count() > LONGEST_SEARCH => {
            Err(Problem::invalid("q", format!("It must have at most {LONGEST_SEARCH} characters.")))
        }
        text => Ok(text),
    }
}

fn too_far(_: Problem) -> Problem {
    let message = format!("It must be between 0 and {MOST_SKIPPED}; to go further follow next_cursor.");
    Problem::invalid("offset", message)
}

/// Only for the order it was made in: in another it would skip some jobs and show others twice.
fn open(cursor: &str, sorting: Sorting) -> Result<Mark, Problem> {
    let wrong =
        || Problem::invalid("cursor", "This is not a cursor of this list in this order. Begin without one.");
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| wrong())?;
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    let parts: Vec<_> = text.split(' ').collect();
    let ["1", by, order, number, priority, status] = parts[..] else { return Err(wrong()) };
    if by != sorting.by.as_str() || order != sorting.order.as_str() {
        return Err(wrong());
    }
    let number = number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
    let priority = priority.parse().map_err(|_| wrong())?;
    Ok(Mark { number, priority, status: status.parse::<JobStatus>().map_err(|_| wrong())? })
}

/// `payload.rows=3`.
fn payload(pairs: &mut QueryPairs) -> Result<Vec<PayloadMatch>, Problem> {
    let asked = pairs.beginning("payload.");
    if asked.len() > MOST_MATCHES {
        return Err(Problem::invalid("payload", format!("At most {MOST_MATCHES} places can be asked for.")));
    }
    let read = |(place, value): (String, String)| {
        let field = format!("payload.{place}");
        let path: Vec<String> = place.split('.').map(str::to_owned).collect();
        let unusable = |name: &String| {
            name.is_empty() || name.contains(['"', '\\']) || name.chars().any(char::is_control)
        };
        if path.len() > DEEPEST_PATH || path.iter().any(unusable) {
            return Err(Problem::invalid(
                field,
                "This is not a place in a payload, such as payload.deck.title.",
            ));
        }
        Ok(PayloadMatch { path, value })
    };
    asked.into_iter().map(read).collect()
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LogParams {
    /// The last one when left out.
    #[param(minimum = 1)]
    pub attempt: Option<i32>,
    /// Lines with a larger `seq`.
    pub after: Option<i64>,
    #[param(minimum = 1, maximum = 1000, default = 200)]
    pub limit: Option<u32>,
}

impl LogParams {
    pub fn read(mut pairs: QueryPairs) -> Result<Self, Problem> {
        let asked = Self {
            attempt: pairs.number("attempt", 1..=i32::MAX)?,
            after: pairs.one("after")?,
            limit: pairs.number("limit", 1..=MOST_LINES)?,
        };
        pairs.nothing_else()?;
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::browse::{SortBy, SortOrder};

    #[test]
    fn a_cursor_belongs_to_its_order() {
        let sorting = Sorting { by: SortBy::Priority, order: SortOrder::Ascending };
        let page = Browse { sorting, ..Browse::default() };
        let mark = Mark { number: 7, priority: 5, status: JobStatus::DeadLetter };
        let cursor = Asked { filter: JobFilter::default(), page }.next(mark);
        assert_eq!(open(&cursor, sorting).unwrap(), mark);
        assert!(open(&cursor, Sorting::default()).is_err());
        for wrong in ["", "x", "!!", "MSBwcmlvcml0eQ"] {
            assert!(open(wrong, sorting).is_err(), "{wrong}");
        }
    }
}
