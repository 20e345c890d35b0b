//! How the API's small values look in its description. Only named in `#[schema(value_type = …)]`: the values themselves
//! are the domain's own types.

use super::Refusal;
use crate::problem;
use leasehold_types::{
    AttemptOutcome, CatchUp, ErrorClass, FieldError, FiringOutcome, JobStatus, LiveKind, LogStream,
    Problem as Said, ProblemCode, Source, Timestamp, TriggerKind, UnitKind, UnitState,
    browse::{SortBy, SortOrder},
    view::Silence,
};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::{
    IntoResponses, PartialSchema, ToSchema,
    openapi::{
        ContentBuilder, KnownFormat, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Schema,
        SchemaFormat, schema::Type,
    },
};

/// A moment, RFC 3339 in UTC with microseconds.
pub struct Moment;

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        let moment = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(moment))
            .examples(["2026-02-16T10:30:01.000000Z"])
            .into()
    }
}

impl ToSchema for Moment {}

/// Any JSON value.
pub struct Anything;

impl PartialSchema for Anything {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(utoipa::openapi::schema::SchemaType::AnyValue).into()
    }
}

impl ToSchema for Anything {}

/// Words of the domain, as the type that has them lists them.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident of $type:ty;)+) => {$(
        $(#[$doc])*
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words = <$type>::ALL.iter().map(|word| word.as_str());
                ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
            }
        }

        impl ToSchema for $name {}
    )+};
}

words! {
    /// The state of a job.
    JobState of JobStatus;
    /// Why an attempt failed, coarsely.
    ErrorClassWord of ErrorClass;
    /// What a trigger waits for.
    TriggerWord of TriggerKind;
    /// What is done about times due that were missed.
    CatchUpWord of CatchUp;
    /// What came of a firing.
    FiringWord of FiringOutcome;
    /// Where a log line came from.
    StreamWord of LogStream;
    /// How one execution of a job ended.
    OutcomeWord of AttemptOutcome;
    /// Who asked for a job.
    SourceWord of Source;
    SortWord of SortBy;
    SortOrderWord of SortOrder;
    /// What happened.
    EventWord of LiveKind;
    UnitKindWord of UnitKind;
    UnitStateWord of UnitState;
}

/// A named part of a kind of job and the span of the progress bar it covers.
#[derive(ToSchema)]
#[schema(as = Stage)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct StageShape {
    name: String,
    #[schema(minimum = 0, maximum = 100)]
    from: u8,
    #[schema(minimum = 0, maximum = 100)]
    to: u8,
}

/// What went wrong (RFC 9457).
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct ProblemShape {
    r#type: String,
    title: String,
    status: u16,
    /// What happened, what was not changed, what to try.
    detail: String,
    /// Stable; programs may match on it.
    code: String,
    /// The fields of the request it is about.
    #[schema(value_type = Option<Vec<FieldShape>>)]
    errors: Option<Vec<FieldError>>,
    /// When trying again makes sense; also in `Retry-After`.
    retry_after_seconds: Option<u32>,
}

#[derive(ToSchema)]
#[schema(as = FieldError)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct FieldShape {
    /// Its path: `jobs[3].payload`.
    field: String,
    message: String,
}

/// The problems any request can meet; every operation lists them.
impl IntoResponses for Refusal {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let mut by_status: BTreeMap<u16, Vec<ProblemCode>> = BTreeMap::new();
        for code in ProblemCode::ALL {
            by_status.entry(code.status()).or_default().push(*code);
        }
        // Ours to prevent: a description is no excuse for one.
        by_status.remove(&ProblemCode::Internal.status());
        let described = |(status, codes): (u16, Vec<ProblemCode>)| {
            let names: Vec<_> = codes.iter().map(|c| format!("`{}` {}", c.as_str(), c.title())).collect();
            let example = problem::body(&Said::new(codes[0], codes[0].title()));
            let content = ContentBuilder::new()
                .schema(Some(Ref::from_schema_name("Problem")))
                .example(Some(example))
                .build();
            let response = ResponseBuilder::new()
                .description(names.join("; "))
                .content("application/problem+json", content)
                .build();
            (status.to_string(), response.into())
        };
        by_status.into_iter().map(described).collect()
    }
}

/// A worker that is not heard of.
#[derive(Serialize, ToSchema)]
#[schema(as = Silence)]
pub struct SilenceView {
    /// The last sign of life.
    #[schema(value_type = Moment)]
    since: Timestamp,
    seconds: i64,
    /// Until the last of its leases ends; none when it holds nothing.
    lease_left_seconds: Option<i64>,
    /// All of it in one sentence.
    text: String,
}

impl From<Silence> for SilenceView {
    fn from(silence: Silence) -> Self {
        let Silence { since, seconds, lease_left_seconds, text } = silence;
        Self { since, seconds, lease_left_seconds, text }
    }
}
