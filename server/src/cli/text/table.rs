//! Rows under a head, aligned.

use super::{Colour, Paint, one_line};

const GAP: &str = "  ";

pub struct Cell {
    text: String,
    colour: Option<Colour>,
}

impl Cell {
    pub fn coloured(self, colour: Option<Colour>) -> Self {
        Self { colour, ..self }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        let text = one_line(text.as_ref());
        Self { text: if text.is_empty() { "-".to_owned() } else { text }, colour: None }
    }
}

pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new<const N: usize>(head: [&'static str; N]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// The table, or `nothing` when there are no rows.
    pub fn text(&self, paint: Paint, nothing: &str) -> String {
        if self.rows.is_empty() {
            return nothing.to_owned();
        }
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].text.chars().count());
            cells.chain([self.head[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.head.len()).map(width).collect();
        let head: Vec<_> = self
            .head
            .iter()
            .zip(&widths)
            .map(|(name, width)| format!("{:<width$}", name.to_uppercase()))
            .collect();
        let mut lines = vec![paint.put(Colour::Bold, head.join(GAP).trim_end())];
        lines.extend(self.rows.iter().map(|row| line(row, &widths, paint)));
        lines.join("\n")
    }
}

fn line(row: &[Cell], widths: &[usize], paint: Paint) -> String {
    let mut line = String::new();
    for (i, (cell, width)) in row.iter().zip(widths).enumerate() {
        let missing = if i + 1 == row.len() { 0 } else { width - cell.text.chars().count() };
        let text = cell.colour.map_or_else(|| cell.text.clone(), |colour| paint.put(colour, &cell.text));
        line += &text;
        line += &" ".repeat(missing);
        line += if i + 1 == row.len() { "" } else { GAP };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_under_their_head_in_colour_too() {
        let mut table = Table::new(["Number", "Status", "Kind"]);
        table.row(["7".into(), Cell::from("Queued").coloured(Some(Colour::Blue)), "a/b".into()]);
        table.row(["1200".into(), "Dead letter".into(), "".into()]);
        let plain = "NUMBER  STATUS       KIND\n7       Queued       a/b\n1200    Dead letter  -";
        assert_eq!(table.text(Paint::new(false), ""), plain);
        let coloured = table.text(Paint::new(true), "");
        assert!(coloured.contains("\x1b[34mQueued\x1b[0m       a/b"), "{coloured:?}");
        assert_eq!(Table::new(["A"]).text(Paint::new(false), "No jobs."), "No jobs.");
    }
}
