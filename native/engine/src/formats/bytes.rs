//! A run of bytes that is either a memory-mapped part of a file or owned; cloning it copies no data.

use std::fs::File;
use std::io::Read;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::{EngineError, Result};

/// Shared, read-only bytes. A mapped file that another program shortens while it is open cannot be read safely by any
/// program; model files are therefore replaced by rename, never rewritten in place (see `write_safetensors`).
#[derive(Clone)]
pub struct Bytes {
    source: Source,
    start: usize,
    len: usize,
}

#[derive(Clone)]
enum Source {
    Mapped(Arc<Mmap>),
    Owned(Arc<Vec<u8>>),
}

impl Bytes {
    /// Maps a whole regular file. Errors: `file-not-found`, `io-error`, `not-a-file`.
    pub fn map(path: &Path) -> Result<Self> {
        // Asked before opening: opening a pipe would wait for its writer.
        let meta = std::fs::metadata(path).map_err(|e| io_error("open", path, &e))?;
        if !meta.is_file() {
            crate::bail!(
                "not-a-file",
                "{} is not a regular file. Choose a model file or a model folder.",
                path.display()
            );
        }
        if meta.len() == 0 {
            return Ok(Self::from(Vec::new()));
        }
        let file = File::open(path).map_err(|e| io_error("open", path, &e))?;
        // SAFETY: the map is private and read-only; see the type's comment for files that shrink under it.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| io_error("map", path, &e))?;
        let len = map.len();
        Ok(Self { source: Source::Mapped(Arc::new(map)), start: 0, len })
    }

    /// A part of these bytes, sharing their storage; `None` when the range leaves them.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.len {
            return None;
        }
        Some(Self { source: self.source.clone(), start: self.start + range.start, len: range.end - range.start })
    }

    /// Tell the system that a mapped file's pages here are not needed for now: they leave this process's memory, and are
    /// read again from the file when touched.
    pub fn release(&self) {
        #[cfg(unix)]
        if let Source::Mapped(map) = &self.source {
            // Rounded outwards to the system's pages, whatever their size: what a neighbour shares comes back as well.
            // SAFETY: the map is read-only and file-backed, so dropped pages come back with the same contents.
            let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, self.start, self.len) };
        }
    }

    /// True when the bytes are a view of a file, which the system can drop from memory and read again.
    pub fn is_mapped(&self) -> bool {
        matches!(self.source, Source::Mapped(_))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        Self { source: Source::Owned(Arc::new(bytes)), start: 0, len }
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        let whole: &[u8] = match &self.source {
            Source::Mapped(map) => map,
            Source::Owned(bytes) => bytes,
        };
        &whole[self.start..self.start + self.len]
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({} {})", self.len, if self.is_mapped() { "mapped" } else { "owned" })
    }
}

/// Turns an I/O failure into the engine's error, with the file's name in front.
pub(crate) fn io_error(action: &str, path: &Path, error: &std::io::Error) -> EngineError {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            EngineError::new("file-not-found", format!("{} does not exist. Check the path.", path.display()))
        }
        std::io::ErrorKind::PermissionDenied => EngineError::new(
            "permission-denied",
            format!("No permission to {action} {}. Change its permissions or choose another place.", path.display()),
        ),
        _ => EngineError::new("io-error", format!("Could not {action} {}: {error}.", path.display())),
    }
}

/// Reads a small file whole. Errors: as [`Bytes::map`], and `file-too-large` beyond `limit` bytes.
pub(crate) fn read_small(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let meta = std::fs::metadata(path).map_err(|e| io_error("open", path, &e))?;
    if !meta.is_file() {
        crate::bail!("not-a-file", "{} is not a regular file.", path.display());
    }
    if meta.len() > limit {
        crate::bail!(
            "file-too-large",
            "{} has {} bytes; a file of this kind has at most {limit}. It is not what its name says: download it again.",
            path.display(),
            meta.len()
        );
    }
    // The size is only what the system claims; what is read is bounded too.
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    let file = File::open(path).map_err(|e| io_error("open", path, &e))?;
    file.take(limit).read_to_end(&mut bytes).map_err(|e| io_error("read", path, &e))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of `path` that are in this process's memory.
    #[cfg(target_os = "linux")]
    fn resident(path: &Path) -> usize {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|l| !l.ends_with(path.to_str().unwrap()));
        let rss = lines.find_map(|l| l.strip_prefix("Rss:")).expect("the file is mapped");
        rss.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() << 10
    }

    #[test]
    fn released_pages_leave_memory_and_come_back_the_same() {
        let path = std::env::temp_dir().join(format!("hone-bytes-{}", std::process::id()));
        let data: Vec<u8> = (0..4 << 20).map(|i: u32| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
        std::fs::write(&path, &data).unwrap();
        let whole = Bytes::map(&path).unwrap();
        assert!(whole[..] == data[..]);
        // Neither end lies on a page of any size.
        let (from, to) = ((1 << 20) + 77, (3 << 20) + 55);
        #[cfg(target_os = "linux")]
        let before = resident(&path);
        whole.slice(from..to).unwrap().release();
        #[cfg(target_os = "linux")]
        {
            let left = resident(&path);
            assert!(left + (2 << 20) - (128 << 10) < before, "{before} bytes became {left}");
        }
        assert!(whole[..] == data[..]);
        Bytes::from(data.clone()).release();
        whole.slice(5..5).unwrap().release();
        std::fs::remove_file(&path).unwrap();
        assert!(whole[..] == data[..]);
    }
}
