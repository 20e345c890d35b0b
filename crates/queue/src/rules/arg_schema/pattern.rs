//! How large a pattern is once its repetitions are written out. Matching takes at most so many steps per byte.

use regex_syntax::hir::{Class, Hir, HirKind};

pub(super) fn states(pattern: &str) -> u64 {
    // Spellings of ECMAScript alone are rewritten by the validator before it compiles them; a guess will do.
    regex_syntax::parse(pattern).map_or(pattern.len() as u64 * 8, |parsed| size(&parsed))
}

fn size(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() as u64,
        HirKind::Repetition(repeated) => {
            let times = u64::from(repeated.max.unwrap_or(repeated.min.saturating_add(1)).max(1));
            size(&repeated.sub).saturating_mul(times)
        }
        HirKind::Capture(group) => size(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().fold(0_u64, |sum, part| sum.saturating_add(size(part)))
        }
    }
}
