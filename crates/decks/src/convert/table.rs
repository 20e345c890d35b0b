//! A table while it is being read.

use pulldown_cmark::Alignment;

use crate::model::{Align, Block, Cell};

pub struct TableReader {
    align: Vec<Align>,
    header: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
    row: Vec<Cell>,
}

impl TableReader {
    pub fn new(align: &[Alignment]) -> Self {
        let mut align: Vec<Align> = align.iter().map(alignment).collect();
        if align.iter().all(|one| *one == Align::Left) {
            align.clear();
        }
        Self { align, header: Vec::new(), rows: Vec::new(), row: Vec::new() }
    }

    pub fn cell(&mut self, cell: Cell) {
        self.row.push(cell);
    }

    /// Rows are as long as the header, whatever the source says.
    pub fn finish_row(&mut self, is_header: bool) {
        let mut row = std::mem::take(&mut self.row);
        if is_header {
            self.header = row;
        } else {
            row.resize(self.header.len(), Vec::new());
            self.rows.push(row);
        }
    }

    pub fn finished(self) -> Option<Block> {
        let Self { mut align, header, rows, .. } = self;
        if !align.is_empty() {
            align.resize(header.len(), Align::Left);
        }
        (!header.is_empty()).then_some(Block::Table { align, header, rows })
    }
}

fn alignment(found: &Alignment) -> Align {
    match found {
        Alignment::None | Alignment::Left => Align::Left,
        Alignment::Center => Align::Center,
        Alignment::Right => Align::Right,
    }
}
