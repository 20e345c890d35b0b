//! The site is embedded from `target/site`. It must exist even when nobody has built the browser part yet, so
//! that a plain `cargo check` of a fresh clone works.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/site");
    std::fs::create_dir_all(&site)?;
    println!("cargo:rerun-if-changed={}", site.display());
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}
