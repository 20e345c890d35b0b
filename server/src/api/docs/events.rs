//! The events of a stream: one row for each name an event can have.

use super::{
    fields::{resolve, table},
    html::{code, line},
};
use serde_json::Value;
use std::fmt::Write;

/// A table of the events, if that is what the schema is about.
pub fn of_schema(api: &Value, schema: &Value, title: &str) -> Option<String> {
    let kinds = resolve(api, schema)["oneOf"].as_array()?;
    let mut rows = String::new();
    for kind in kinds.iter().map(|kind| resolve(api, kind)) {
        let name = kind["properties"]["event"]["const"].as_str()?;
        let data = &kind["properties"]["data"]["contentSchema"];
        let data = data["$ref"].as_str().and_then(|place| place.rsplit('/').next()).unwrap_or("{cursor}");
        let about = kind["description"].as_str().unwrap_or_default();
        let _ = write!(rows, "<tr><td>{}</td><td>{data}</td><td>{}</td></tr>", code(name), line(about));
    }
    Some(table("Event", title, &rows))
}
