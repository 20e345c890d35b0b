//! Which layout suits some blocks.

use crate::model::{Block, Layout};

/// The layout of a slide that holds only one kind of thing, else the general one.
#[must_use]
pub fn layout_for(blocks: &[Block]) -> Layout {
    let all = |kind: fn(&Block) -> bool| !blocks.is_empty() && blocks.iter().all(kind);
    if all(|block| matches!(block, Block::Code { .. })) {
        Layout::Code
    } else if all(|block| matches!(block, Block::Table { .. })) {
        Layout::Table
    } else if all(|block| matches!(block, Block::Quote { .. })) {
        Layout::Quote
    } else if all(|block| matches!(block, Block::Image { .. })) {
        Layout::Image
    } else {
        Layout::Bullets
    }
}
