//! The zip around the parts.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use crate::error::DeckError;
use crate::watch::{Watch, tell};

/// Times, system and level are fixed: the same parts give the same bytes, whenever and wherever.
pub fn zipped(parts: Vec<(String, String)>, watch: Watch<'_>) -> Result<Vec<u8>, DeckError> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(6))
        .last_modified_time(DateTime::default())
        .system(System::Dos);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let total = parts.len();
    for (index, (name, part)) in parts.into_iter().enumerate() {
        tell(watch, index, total)?;
        zip.start_file(name, options).map_err(internal)?;
        zip.write_all(part.as_bytes()).map_err(internal)?;
    }
    tell(watch, total, total)?;
    Ok(zip.finish().map_err(internal)?.into_inner())
}

fn internal(error: impl std::fmt::Display) -> DeckError {
    DeckError::Internal(error.to_string())
}
