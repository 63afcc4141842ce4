//! The primitive values of a GGUF file, read with every step checked against the file's end.

use std::path::Path;

use crate::bail;
use crate::error::Result;

/// Arrays may hold arrays; real files never do.
const MAX_DEPTH: u32 = 4;
const AGAIN: &str = "Download or copy it again.";

/// A metadata value; strings and arrays stay in the file until asked for.
#[derive(Clone, Copy)]
pub(super) enum Meta {
    Unsigned(u64),
    Signed(i64),
    F32(f32),
    F64(f64),
    Bool(bool),
    /// Byte range of the text.
    Text(usize, usize),
    /// Element type, element count, offset of the first element.
    Array(u32, u64, usize),
}

/// Reads one value and moves past it. Strings and arrays are checked but not copied; an array's elements are walked
/// once, and since each takes at least a byte, the file's size bounds the work.
pub(super) fn read_value(cursor: &mut Cursor, type_id: u32, depth: u32) -> Result<Meta> {
    const WHAT: &str = "a metadata value";
    Ok(match type_id {
        0 => Meta::Unsigned(cursor.take::<1>(WHAT)?[0] as u64),
        1 => Meta::Signed(cursor.take::<1>(WHAT)?[0] as i8 as i64),
        2 => Meta::Unsigned(u16::from_le_bytes(cursor.take(WHAT)?) as u64),
        3 => Meta::Signed(i16::from_le_bytes(cursor.take(WHAT)?) as i64),
        4 => Meta::Unsigned(cursor.u32(WHAT)? as u64),
        5 => Meta::Signed(i32::from_le_bytes(cursor.take(WHAT)?) as i64),
        6 => Meta::F32(f32::from_le_bytes(cursor.take(WHAT)?)),
        7 => Meta::Bool(cursor.take::<1>(WHAT)?[0] != 0),
        8 => {
            let (start, end) = cursor.text_range(WHAT)?;
            Meta::Text(start, end)
        }
        9 => {
            let element = cursor.u32(WHAT)?;
            let count = cursor.u64(WHAT)?;
            let first = cursor.at;
            match fixed_size(element) {
                Some(size) => {
                    let total = count.checked_mul(size).and_then(|n| usize::try_from(n).ok());
                    cursor.skip(total, WHAT)?;
                }
                None if depth >= MAX_DEPTH => {
                    bail!(
                        "bad-header",
                        "{} nests metadata arrays more than {MAX_DEPTH} deep. {AGAIN}",
                        cursor.path.display()
                    )
                }
                None => {
                    for _ in 0..count {
                        read_value(cursor, element, depth + 1)?;
                    }
                }
            }
            Meta::Array(element, count, first)
        }
        10 => Meta::Unsigned(cursor.u64(WHAT)?),
        11 => Meta::Signed(i64::from_le_bytes(cursor.take(WHAT)?)),
        12 => Meta::F64(f64::from_le_bytes(cursor.take(WHAT)?)),
        other => bail!("bad-header", "{} holds metadata of unknown type {other}. {AGAIN}", cursor.path.display()),
    })
}

fn fixed_size(type_id: u32) -> Option<u64> {
    match type_id {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

/// A position in the file; every step is checked against its end.
pub(super) struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    pub path: &'a Path,
}

impl Cursor<'_> {
    fn skip(&mut self, len: Option<usize>, what: &str) -> Result<()> {
        match len.and_then(|n| self.at.checked_add(n)).filter(|&end| end <= self.bytes.len()) {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => bail!(
                "truncated-file",
                "{} ends inside {what} (byte {} of {}), or claims an impossible length there. {AGAIN}",
                self.path.display(),
                self.at,
                self.bytes.len()
            ),
        }
    }

    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let start = self.at;
        self.skip(Some(N), what)?;
        let mut out = [0; N];
        out.copy_from_slice(&self.bytes[start..start + N]);
        Ok(out)
    }

    pub fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(what)?))
    }

    pub fn u64(&mut self, what: &str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(what)?))
    }

    fn text_range(&mut self, what: &str) -> Result<(usize, usize)> {
        let len = self.u64(what)?;
        let start = self.at;
        self.skip(usize::try_from(len).ok(), what)?;
        Ok((start, self.at))
    }

    pub fn name(&mut self, what: &str) -> Result<String> {
        let (start, end) = self.text_range(what)?;
        match std::str::from_utf8(&self.bytes[start..end]) {
            Ok(name) => Ok(name.to_string()),
            Err(_) => bail!("bad-header", "{}: {what} at byte {start} is not UTF-8. {AGAIN}", self.path.display()),
        }
    }
}
