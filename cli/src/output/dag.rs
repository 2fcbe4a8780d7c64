//! A history drawn with dots and lines: which lane each commit stands in, and where lanes fork and join. Pure.
//!
//! Commits come newest first, each before its parents. A lane is a column that waits for one commit; several may wait
//! for the same, and join in the row before it. A parent that is not among the commits leaves its lane open to the end.

use super::colour::{Ink, Paint};

/// A commit to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) id: &'a str,
    /// First parent first.
    pub(crate) parents: &'a [String],
}

/// A row of the drawing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The commit that stands in it, by its place among the nodes; `None` if it only connects.
    pub(crate) commit: Option<usize>,
    /// Signs of lanes, with one between each two.
    cells: Vec<Cell>,
}

impl Row {
    /// The row as text, without spaces at its end.
    pub(crate) fn text(&self, paint: Paint) -> String {
        let used = self.cells.iter().rposition(|cell| cell.sign != ' ').map_or(0, |last| last + 1);
        let cell = |cell: &Cell| match cell.sign {
            ' ' => " ".to_string(),
            sign => paint.with(Ink::nth(cell.hue), &sign.to_string()),
        };
        self.cells.iter().take(used).map(cell).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    sign: char,
    hue: usize,
}

impl Cell {
    const EMPTY: Self = Self { sign: ' ', hue: 0 };
}

/// A column that waits for a commit.
#[derive(Clone, Copy, Debug)]
struct Lane<'a> {
    waits: &'a str,
    hue: usize,
}

/// The lanes between two rows.
#[derive(Default)]
struct Lanes<'a> {
    lanes: Vec<Option<Lane<'a>>>,
    hues: usize,
}

/// Draws a history.
pub(crate) fn draw(nodes: &[Node<'_>]) -> Vec<Row> {
    let mut lanes = Lanes::default();
    let mut rows = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let waiting = lanes.waiting_for(node.id);
        let own = waiting.first().copied().unwrap_or_else(|| lanes.open(node.id));
        if waiting.len() > 1 {
            rows.push(lanes.join(&waiting));
        }
        rows.push(Row { commit: Some(at), cells: lanes.cells(Some(own)) });
        let Some((first, others)) = node.parents.split_first() else {
            lanes.close(own);
            continue;
        };
        lanes.wait(own, first);
        for parent in others {
            rows.push(lanes.branch_off(own, parent));
        }
    }
    rows
}

impl<'a> Lanes<'a> {
    /// The lanes that wait for a commit, leftmost first.
    fn waiting_for(&self, id: &str) -> Vec<usize> {
        let waits = |(at, lane): (usize, &Option<Lane<'a>>)| lane.filter(|lane| lane.waits == id).map(|_| at);
        self.lanes.iter().enumerate().filter_map(waits).collect()
    }

    /// A lane of its own for a commit: the leftmost that is free.
    fn open(&mut self, waits: &'a str) -> usize {
        let lane = Some(Lane { waits, hue: self.hues });
        self.hues += 1;
        match self.lanes.iter().position(Option::is_none) {
            Some(free) => {
                self.lanes[free] = lane;
                free
            }
            None => {
                self.lanes.push(lane);
                self.lanes.len() - 1
            }
        }
    }

    fn close(&mut self, at: usize) {
        if let Some(lane) = self.lanes.get_mut(at) {
            *lane = None;
        }
        while self.lanes.last().is_some_and(Option::is_none) {
            self.lanes.pop();
        }
    }

    fn wait(&mut self, at: usize, waits: &'a str) {
        if let Some(Some(lane)) = self.lanes.get_mut(at) {
            lane.waits = waits;
        }
    }

    fn hue(&self, at: usize) -> usize {
        self.lanes.get(at).copied().flatten().map_or(0, |lane| lane.hue)
    }

    /// Every lane going down, with a dot in one of them.
    fn cells(&self, dot: Option<usize>) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(self.lanes.len() * 2);
        for (at, lane) in self.lanes.iter().enumerate() {
            let sign = if dot == Some(at) { '●' } else { '│' };
            cells.push(lane.map_or(Cell::EMPTY, |lane| Cell { sign, hue: lane.hue }));
            cells.push(Cell::EMPTY);
        }
        cells
    }

    /// Joins lanes that wait for one commit into the leftmost of them.
    fn join(&mut self, waiting: &[usize]) -> Row {
        let mut cells = self.cells(None);
        if let (Some(&own), Some(&last)) = (waiting.first(), waiting.last()) {
            self.span(&mut cells, own, last, '╯');
            for &between in waiting.iter().filter(|at| **at != own && **at != last) {
                cells[between * 2].sign = '┴';
            }
            for &at in &waiting[1..] {
                self.close(at);
            }
        }
        Row { commit: None, cells }
    }

    /// Connects a commit's lane with the one of a further parent, which is opened if none waits for it.
    fn branch_off(&mut self, own: usize, parent: &'a str) -> Row {
        let mut cells = self.cells(None);
        let known = self.waiting_for(parent).into_iter().find(|at| *at != own);
        if let Some(to) = known {
            self.span(&mut cells, own, to, if to > own { '┤' } else { '├' });
        } else {
            let to = self.open(parent);
            cells.resize(cells.len().max(self.lanes.len() * 2), Cell::EMPTY);
            self.span(&mut cells, own, to, if to > own { '╮' } else { '╭' });
        }
        Row { commit: None, cells }
    }

    /// Draws a line from one lane to another, over those between.
    fn span(&self, cells: &mut [Cell], from: usize, to: usize, end: char) {
        let hue = self.hue(to);
        let (left, right) = (from.min(to) * 2, from.max(to) * 2);
        for cell in cells.iter_mut().take(right).skip(left + 1) {
            match cell.sign {
                '│' => cell.sign = '┼',
                _ => *cell = Cell { sign: '─', hue },
            }
        }
        cells[from * 2].sign = if to > from { '├' } else { '┤' };
        cells[to * 2] = Cell { sign: end, hue };
    }
}

#[cfg(test)]
mod tests;
