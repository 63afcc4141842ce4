//! How a packed batch is laid out: segments one after another, some continuing an earlier one (shared prefix).

use crate::bail;
use crate::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First row in the packed batch.
    pub start: usize,
    pub len: usize,
    /// Index of the segment that this one continues.
    pub parent: Option<usize>,
    /// Position of the first token: 0, or the parent's length.
    pub position: usize,
}

/// A prefix (or none) with everything that continues it; groups share no attention, so they are the unit of parallel work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Segment indices; when `has_prefix`, the first one is the parent of all others.
    pub segments: Vec<usize>,
    pub has_prefix: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Layout {
    pub segments: Vec<Segment>,
    pub groups: Vec<Group>,
    /// Position of every row.
    pub positions: Vec<u32>,
}

impl Layout {
    /// From `(length, parent)` of every segment, in packed order.
    ///
    /// # Errors
    /// `bad-batch` for an empty segment, a parent that does not come earlier, or a parent that has a parent itself.
    pub fn new(segments: &[(usize, Option<usize>)]) -> Result<Self> {
        let mut out = Layout::default();
        let mut group_of: Vec<usize> = Vec::with_capacity(segments.len());
        let mut start = 0;
        for (i, &(len, parent)) in segments.iter().enumerate() {
            if len == 0 {
                bail!("bad-batch", "segment {i} of the batch is empty: leave it out or give it a token");
            }
            let position = match parent {
                None => 0,
                Some(p) if p < i && out.segments[p].parent.is_none() => out.segments[p].len,
                Some(p) => {
                    bail!("bad-batch", "segment {i} names segment {p} as its parent: a parent must come earlier and have no parent itself")
                }
            };
            match parent {
                Some(p) => {
                    let g: &mut Group = &mut out.groups[group_of[p]];
                    g.segments.push(i);
                    g.has_prefix = true;
                    group_of.push(group_of[p]);
                }
                None => {
                    group_of.push(out.groups.len());
                    out.groups.push(Group { segments: vec![i], has_prefix: false });
                }
            }
            out.segments.push(Segment { start, len, parent, position });
            out.positions.extend((0..len).map(|t| (position + t) as u32));
            start += len;
        }
        Ok(out)
    }

    /// One plain sequence per length.
    pub fn sequences(lengths: &[usize]) -> Result<Self> {
        Self::new(&lengths.iter().map(|&l| (l, None)).collect::<Vec<_>>())
    }

    pub fn rows(&self) -> usize {
        self.positions.len()
    }

    /// Longest context of any row, in tokens.
    pub fn longest(&self) -> usize {
        self.segments.iter().map(|s| s.position + s.len).max().unwrap_or(0)
    }

    /// The row whose output predicts the token of `row`: the row before it, or the parent's last one. None for a first token.
    pub fn predictor(&self, segment: usize, offset: usize) -> Option<usize> {
        let s = self.segments[segment];
        if offset > 0 {
            return Some(s.start + offset - 1);
        }
        s.parent.map(|p| self.segments[p].start + self.segments[p].len - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_prefix_positions_and_predictors() {
        let l = Layout::new(&[(3, None), (2, Some(0)), (2, None), (1, Some(0))]).unwrap();
        assert_eq!(l.positions, [0, 1, 2, 3, 4, 0, 1, 3]);
        assert_eq!(l.groups.len(), 2);
        assert_eq!(l.groups[0].segments, [0, 1, 3]);
        assert_eq!(l.predictor(1, 0), Some(2));
        assert_eq!(l.predictor(3, 0), Some(2));
        assert_eq!(l.predictor(1, 1), Some(3));
        assert_eq!(l.predictor(2, 0), None);
    }

    #[test]
    fn refuses_bad_segments() {
        assert!(Layout::new(&[(0, None)]).is_err());
        assert!(Layout::new(&[(1, Some(0))]).is_err());
        assert!(Layout::new(&[(1, None), (1, Some(0)), (1, Some(1))]).is_err());
    }
}
