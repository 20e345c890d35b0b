//! What moves.
