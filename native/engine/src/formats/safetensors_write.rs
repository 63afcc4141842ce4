//! Writing safetensors that transformers and PEFT open: all or nothing, the same bytes for the same tensors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{json, Map};

use super::bytes::io_error;
use super::{f32_to_bf16, f32_to_f16, shorten, Dtype};
use crate::bail;
use crate::error::{EngineError, Result};

/// A tensor to write: `data` is row-major and has as many values as `shape` says.
pub struct TensorOut<'a> {
    pub name: &'a str,
    pub shape: &'a [usize],
    pub data: &'a [f32],
    /// Stored as F32, BF16 or F16 (rounded to nearest even).
    pub dtype: Dtype,
}

/// Writes one safetensors file. Tensors are sorted (wider types first, then by name), `"format": "pt"` is added to the
/// metadata unless given. The file appears complete or not at all: it is written beside its place, flushed to the disk
/// and renamed. Errors: `bad-tensor` (wrong length, type or name, or a value too large for F16), `duplicate-tensor`,
/// `disk-full` with the bytes needed, `permission-denied`, `file-not-found` (no such folder), `io-error`.
pub fn write_safetensors(path: &Path, tensors: &[TensorOut], metadata: &[(&str, &str)]) -> Result<()> {
    let order = sorted(tensors)?;
    let header = header(&order, metadata);
    let data_bytes: usize = order.iter().map(|t| t.data.len() * t.dtype.block_bytes()).sum();
    let total = (8 + header.len() + data_bytes) as u64;

    let temporary = Temporary::beside(path)?;
    let failed = |action: &str, e: &std::io::Error| write_error(action, path, total, e);
    let mut file = File::create(&temporary.path).map_err(|e| failed("create", &e))?;
    write_all(&mut file, &header, &order).map_err(|e| match e {
        WriteFailure::Io(e) => failed("write", &e),
        WriteFailure::Value(e) => e,
    })?;
    file.sync_all().map_err(|e| failed("write", &e))?;
    drop(file);
    std::fs::rename(&temporary.path, path).map_err(|e| failed("replace", &e))?;
    temporary.keep();
    sync_folder(path);
    Ok(())
}

fn sorted<'a, 'b>(tensors: &'b [TensorOut<'a>]) -> Result<Vec<&'b TensorOut<'a>>> {
    let mut seen = BTreeSet::new();
    for t in tensors {
        let name = shorten(t.name);
        if !matches!(t.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16) {
            bail!("bad-tensor", "Tensor {name} cannot be written as {}; F32, F16 and BF16 can.", t.dtype.name());
        }
        if t.name == "__metadata__" || t.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)) != Some(t.data.len()) {
            bail!("bad-tensor", "Tensor {name} of shape {:?} does not have {} values.", t.shape, t.data.len());
        }
        if !seen.insert(t.name) {
            bail!("duplicate-tensor", "Tensor {name} was given twice.");
        }
    }
    let mut order: Vec<&TensorOut> = tensors.iter().collect();
    order.sort_by_key(|t| (std::cmp::Reverse(t.dtype.block_bytes()), t.name));
    Ok(order)
}

/// The JSON header, padded with spaces so that the data begins at a multiple of 8.
fn header(order: &[&TensorOut], metadata: &[(&str, &str)]) -> Vec<u8> {
    let mut strings: BTreeMap<&str, &str> = BTreeMap::from([("format", "pt")]);
    strings.extend(metadata.iter().copied());
    // serde_json sorts keys; "__metadata__" need not come first.
    let mut entries = Map::new();
    entries.insert("__metadata__".into(), json!(strings));
    let mut at = 0;
    for t in order {
        let end = at + t.data.len() * t.dtype.block_bytes();
        let entry = json!({ "dtype": t.dtype.name(), "shape": t.shape, "data_offsets": [at, end] });
        entries.insert(t.name.to_string(), entry);
        at = end;
    }
    let mut text = serde_json::Value::Object(entries).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    text
}

enum WriteFailure {
    Io(std::io::Error),
    Value(EngineError),
}

impl From<std::io::Error> for WriteFailure {
    fn from(e: std::io::Error) -> Self {
        Self::Io(e)
    }
}

fn write_all(out: &mut impl Write, header: &[u8], order: &[&TensorOut]) -> std::result::Result<(), WriteFailure> {
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header)?;
    // Converted a piece at a time: no second copy of the model in memory.
    const PIECE: usize = 1 << 18;
    let mut buffer = Vec::with_capacity(PIECE * 4);
    for t in order {
        for piece in t.data.chunks(PIECE) {
            buffer.clear();
            match t.dtype {
                Dtype::BF16 => buffer.extend(piece.iter().flat_map(|&x| f32_to_bf16(x).to_le_bytes())),
                Dtype::F16 => {
                    if let Some(x) = piece.iter().find(|&&x| x.is_finite() && f32_to_f16(x) & 0x7fff == 0x7c00) {
                        let name = shorten(t.name);
                        let message = format!("Tensor {name} holds {x}, too large for F16. Save it as BF16 or F32.");
                        return Err(WriteFailure::Value(EngineError::new("bad-tensor", message)));
                    }
                    buffer.extend(piece.iter().flat_map(|&x| f32_to_f16(x).to_le_bytes()));
                }
                _ => buffer.extend(piece.iter().flat_map(|&x| x.to_le_bytes())),
            }
            out.write_all(&buffer)?;
        }
    }
    Ok(())
}

fn write_error(action: &str, path: &Path, total: u64, error: &std::io::Error) -> EngineError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => EngineError::new(
            "disk-full",
            format!(
                "No room for {}: it needs {total} bytes ({:.1} MB). Free space or choose another disk. Nothing was changed.",
                path.display(),
                total as f64 / 1e6
            ),
        ),
        _ => io_error(action, path, error),
    }
}

/// A file that is removed again unless the work succeeds.
struct Temporary {
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    fn beside(path: &Path) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Some(name) = path.file_name() else {
            bail!("io-error", "{} is not a file name.", path.display());
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let hidden = format!(".{}.tmp-{}-{number}", name.to_string_lossy(), std::process::id());
        Ok(Self { path: path.with_file_name(hidden), kept: false })
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes the rename itself durable, where the system allows opening a folder for that.
fn sync_folder(path: &Path) {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes, then has no room.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_said_with_the_bytes_needed() {
        let tensor = TensorOut { name: "w", shape: &[1000], data: &[1.0; 1000], dtype: Dtype::F32 };
        let order = sorted(std::slice::from_ref(&tensor)).unwrap();
        let header = header(&order, &[]);
        let total = 8 + header.len() + 4000;
        for room in [0, 5, 100, total - 1] {
            let Err(WriteFailure::Io(error)) = write_all(&mut Full(room), &header, &order) else {
                panic!("wrote {total} bytes into {room}")
            };
            let error = write_error("write", Path::new("/disk/model.safetensors"), total as u64, &error);
            assert_eq!(error.code, "disk-full");
            let message = error.message;
            assert!(message.contains("/disk/model.safetensors") && message.contains(&total.to_string()), "{message}");
        }
        assert!(write_all(&mut Full(total), &header, &order).is_ok());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_says_a_full_disk_the_same_way() {
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        let Err(WriteFailure::Io(error)) = write_all(&mut full, b"{}", &[]) else { panic!("wrote to /dev/full") };
        assert_eq!(write_error("write", Path::new("x"), 1, &error).code, "disk-full");
    }
}
