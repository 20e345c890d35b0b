//! The columns and rows of a table.

use super::tone::Tone;
use super::{Rect, TableBox, TableRow};
use crate::model::{Cell, Run};
use crate::text::metrics::Face;
use crate::text::wrap::{Line, wrap};
use crate::theme::{CELL_PADDING_X, CELL_PADDING_Y};

use super::title::in_points;

const NARROWEST: f32 = 40.0;
const WIDEST: f32 = 320.0;

pub struct Grid {
    pub columns: Vec<f32>,
    pub size: f32,
    pub leading: f32,
}

impl Grid {
    /// Columns share the width by what they hold, within reason.
    pub fn new(header: &[Cell], rows: &[Vec<Cell>], tone: &Tone) -> Self {
        let set = tone.cell(header.len());
        let wanted: Vec<f32> = (0..header.len())
            .map(|column| {
                let head = widest_line(&header[column], Face::bold(set.face.size));
                let body = rows.iter().filter_map(|row| row.get(column));
                let body = body.map(|cell| widest_line(cell, set.face)).fold(0.0, f32::max);
                head.max(body).clamp(NARROWEST, WIDEST) + 2.0 * CELL_PADDING_X
            })
            .collect();
        let all: f32 = wanted.iter().sum();
        let columns = wanted.iter().map(|one| one / all * tone.width).collect();
        Self { columns, size: set.face.size, leading: set.leading }
    }

    pub fn cell_lines(&self, column: usize, cell: &[Run], is_header: bool) -> Vec<Line> {
        let face = if is_header { Face::bold(self.size) } else { Face::regular(self.size) };
        let width = (self.columns[column] - 2.0 * CELL_PADDING_X).max(1.0);
        wrap(cell, face, width)
    }

    pub fn row_height(&self, row: &[Cell], is_header: bool) -> f32 {
        let lines = row.iter().enumerate().map(|(at, cell)| self.cell_lines(at, cell, is_header).len());
        in_points(lines.max().unwrap_or(1)) * self.leading + 2.0 * CELL_PADDING_Y
    }

    pub fn height(&self, header: &[Cell], rows: &[Vec<Cell>]) -> f32 {
        self.row_height(header, true) + rows.iter().map(|row| self.row_height(row, false)).sum::<f32>()
    }
}

pub fn table_box(header: &[Cell], rows: &[Vec<Cell>], tone: &Tone, x: f32, y: f32) -> TableBox {
    let grid = Grid::new(header, rows, tone);
    let head = TableRow { height: grid.row_height(header, true), cells: header.to_vec() };
    let body = rows.iter().map(|row| TableRow { height: grid.row_height(row, false), cells: row.clone() });
    let rows: Vec<TableRow> = std::iter::once(head).chain(body).collect();
    let height = rows.iter().map(|row| row.height).sum();
    let rect = Rect { x, y, width: tone.width, height };
    TableBox { rect, align: Vec::new(), columns: grid.columns, rows, size: grid.size, leading: grid.leading }
}

fn widest_line(cell: &[Run], face: Face) -> f32 {
    wrap(cell, face, WIDEST).iter().map(|line| line.width).fold(0.0, f32::max)
}
