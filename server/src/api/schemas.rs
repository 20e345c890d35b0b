//! How the API's small values look in its description. Only named in `#[schema(value_type = …)]`: the values themselves
//! are the domain's own types.

use leasehold_types::{
    AttemptOutcome, CatchUp, ErrorClass, FieldError, FiringOutcome, JobStatus, LiveKind, LogStream, Source,
    Timestamp, TriggerKind, UnitKind, UnitState,
    browse::{SortBy, SortOrder},
    view::Silence,
};
use serde::Serialize;
use std::borrow::Cow;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type},
};

/// A moment, RFC 3339 in UTC with microseconds.
pub struct Moment;

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        let moment = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(moment))
            .description(Some("A moment, RFC 3339; answers are in UTC with microseconds."))
            .examples(["2026-02-16T10:30:01.000000Z"])
            .into()
    }
}

impl ToSchema for Moment {}

/// Any JSON value.
pub struct Anything;

impl PartialSchema for Anything {
    fn schema() -> RefOr<Schema> {
        let any = utoipa::openapi::schema::SchemaType::AnyValue;
        ObjectBuilder::new().schema_type(any).description(Some("Any JSON value.")).into()
    }
}

impl ToSchema for Anything {}

/// Words of the domain, as the type that has them lists them.
macro_rules! words {
    ($($(#[doc = $doc:literal])+ $name:ident as $shown:literal of $type:ty;)+) => {$(
        $(#[doc = $doc])+
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words = <$type>::ALL.iter().map(|word| word.as_str());
                let described = concat!($($doc),+).trim();
                let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words));
                schema.description(Some(described)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($shown)
            }
        }
    )+};
}

words! {
    /// The state of a job.
    JobState as "JobStatus" of JobStatus;
    /// Why an attempt failed, coarsely.
    ErrorClassWord as "ErrorClass" of ErrorClass;
    /// What a trigger waits for.
    TriggerWord as "TriggerType" of TriggerKind;
    /// What is done about times due that were missed.
    CatchUpWord as "CatchUp" of CatchUp;
    /// What came of a firing.
    FiringWord as "FiringOutcome" of FiringOutcome;
    /// Where a log line came from.
    StreamWord as "LogStream" of LogStream;
    /// How one execution of a job ended.
    OutcomeWord as "AttemptOutcome" of AttemptOutcome;
    /// Who asked for a job.
    SourceWord as "Source" of Source;
    /// What a list is sorted by.
    SortWord as "SortBy" of SortBy;
    /// Which end of the order comes first.
    SortOrderWord as "SortOrder" of SortOrder;
    /// What happened.
    EventWord as "EventKind" of LiveKind;
    /// What a work unit does.
    UnitKindWord as "UnitKind" of UnitKind;
    /// The state of a work unit.
    UnitStateWord as "UnitState" of UnitState;
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
    /// The HTTP status.
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

/// A field of the request, and what is wrong with it.
#[derive(ToSchema)]
#[schema(as = FieldError)]
#[expect(dead_code, reason = "only its shape is described")]
pub struct FieldShape {
    /// Its path: `jobs[3].payload`.
    field: String,
    /// What is wrong with it, for people.
    message: String,
}

/// A worker that is not heard of.
#[derive(Serialize, ToSchema)]
#[schema(as = Silence)]
pub struct SilenceView {
    /// The last sign of life.
    #[schema(value_type = Moment)]
    since: Timestamp,
    /// How long ago that was.
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
