//! The document around every page.
