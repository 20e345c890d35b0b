//! Brotli siblings at the best quality: compressed once here, not at every request.

use std::fs;
use std::path::Path;

use super::{entries, write_if_changed};

const WORTH_IT: [&str; 6] = ["css", "js", "json", "svg", "txt", "wasm"];

pub fn build(folder: &Path) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            build(&path)?;
            continue;
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if WORTH_IT.contains(&extension) && !is_fresh(&path) {
            let bytes = fs::read(&path).map_err(|e| format!("reading {}: {e}", path.display()))?;
            write_if_changed(&sibling(&path), &compressed(&bytes)?)?;
        }
    }
    Ok(())
}

fn sibling(path: &Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".br");
    name.into()
}

fn is_fresh(path: &Path) -> bool {
    let time = |p: &Path| fs::metadata(p).and_then(|m| m.modified());
    matches!((time(path), time(&sibling(path))), (Ok(source), Ok(made)) if made >= source)
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    let mut output = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut output, &parameters).map_err(|e| format!("brotli: {e}"))?;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_comes_back_the_same() {
        let text = "the same words, the same words, the same words".repeat(20);
        let packed = compressed(text.as_bytes()).unwrap();
        assert!(packed.len() < text.len() / 4);
        let mut back = Vec::new();
        brotli::BrotliDecompress(&mut &packed[..], &mut back).unwrap();
        assert_eq!(back, text.as_bytes());
    }
}
