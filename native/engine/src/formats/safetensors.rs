//! Reading one safetensors file: `[u64 header length][JSON header][tensor bytes]`, little-endian.
//! Format: https://huggingface.co/docs/safetensors. Names map to dtype, shape and byte range; ranges cover the data
//! exactly, without holes or overlaps.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::Deserialize;

use super::{shorten, Bytes, Dtype, TensorView};
use crate::bail;
use crate::error::Result;

/// The limit of the reference implementation; a header also never exceeds its file.
const MAX_HEADER: u64 = 100_000_000;
const MAX_RANK: usize = 8;

/// An open safetensors file: its header, and its tensors on demand.
pub struct SafetensorsFile {
    path: PathBuf,
    data: Bytes,
    tensors: BTreeMap<String, Entry>,
    metadata: BTreeMap<String, String>,
}

struct Entry {
    dtype: String,
    shape: Vec<usize>,
    start: usize,
    end: usize,
}

impl SafetensorsFile {
    /// Maps the file and checks its header. Errors: those of [`Bytes::map`] and [`SafetensorsFile::parse`].
    pub fn open(path: &Path) -> Result<Self> {
        Self::parse(Bytes::map(path)?, path)
    }

    /// Checks the header of a file's bytes; `path` only names it in messages. Errors: `truncated-file`,
    /// `oversized-file`, `bad-header`, `duplicate-tensor`, `overlapping-tensors`, `wrong-shape`.
    pub fn parse(bytes: Bytes, path: &Path) -> Result<Self> {
        let file = path.display();
        let Some(prefix) = bytes.first_chunk::<8>() else {
            bail!("truncated-file", "{file} has {} bytes, too few for a safetensors file. {AGAIN}", bytes.len());
        };
        let header_len = u64::from_le_bytes(*prefix);
        if header_len > MAX_HEADER {
            bail!("bad-header", "{file} claims a header of {header_len} bytes: it is not a safetensors file. {AGAIN}");
        }
        let data_start = 8 + header_len as usize;
        let Some(text) = bytes.get(8..data_start) else {
            let present = bytes.len() - 8;
            bail!("truncated-file", "{file} ends inside its header ({present} of {header_len} bytes). {AGAIN}");
        };
        if text.first() != Some(&b'{') {
            bail!("bad-header", "{file} is not a safetensors file: its header is not a JSON object. {AGAIN}");
        }
        let header: Header = match serde_json::from_slice(text) {
            Ok(header) => header,
            Err(e) => bail!("bad-header", "{file} has a malformed header: {}. {AGAIN}", shorten(&e.to_string())),
        };
        if let Some(name) = header.duplicate {
            bail!("duplicate-tensor", "{file} lists tensor {} twice. {AGAIN}", shorten(&name));
        }
        let Some(data) = bytes.slice(data_start..bytes.len()) else { unreachable!("the header lies inside the file") };
        let mut tensors = BTreeMap::new();
        for (name, raw) in header.tensors {
            let entry = check_entry(&file, &name, raw, data.len())?;
            tensors.insert(name, entry);
        }
        check_coverage(&file, &tensors, data.len())?;
        Ok(Self { path: path.to_path_buf(), data, tensors, metadata: header.metadata })
    }

    /// The file's path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tensor names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// True when the file holds a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The free-form strings under `__metadata__`.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// One tensor, sharing the file's bytes. Errors: `missing-tensor`, `unsupported-dtype`.
    pub fn tensor(&self, name: &str) -> Result<TensorView> {
        let entry = self.entry(name)?;
        let dtype = match entry.dtype.as_str() {
            "F32" => Dtype::F32,
            "F16" => Dtype::F16,
            "BF16" => Dtype::BF16,
            other => bail!(
                "unsupported-dtype",
                "{}: tensor {} is stored as {}; F32, F16 and BF16 are supported. Convert the checkpoint to one of them.",
                self.path.display(),
                shorten(name),
                shorten(other)
            ),
        };
        let (shape, bytes) = (entry.shape.clone(), self.bytes_of(entry));
        Ok(TensorView { name: name.to_string(), shape, dtype, bytes, row_order: None })
    }

    /// An `I64` tensor's values (step counters, token ids). Errors: `missing-tensor`, `unsupported-dtype`.
    pub fn read_i64(&self, name: &str) -> Result<Vec<i64>> {
        let entry = self.entry(name)?;
        if entry.dtype != "I64" {
            bail!(
                "unsupported-dtype",
                "{}: tensor {} is stored as {}, expected I64.",
                self.path.display(),
                shorten(name),
                shorten(&entry.dtype)
            );
        }
        Ok(self.bytes_of(entry).as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect())
    }

    /// The shape of a tensor, whatever its type. Error: `missing-tensor`.
    pub fn shape(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.entry(name)?.shape)
    }

    fn entry(&self, name: &str) -> Result<&Entry> {
        let Some(entry) = self.tensors.get(name) else {
            bail!(
                "missing-tensor",
                "{} has no tensor {}. The checkpoint is incomplete or of another kind: download it again.",
                self.path.display(),
                shorten(name)
            );
        };
        Ok(entry)
    }

    fn bytes_of(&self, entry: &Entry) -> Bytes {
        let Some(bytes) = self.data.slice(entry.start..entry.end) else {
            unreachable!("ranges were checked when the header was read")
        };
        bytes
    }
}

/// All tensors of one file, sorted by name: for adapters and optimizer state. Errors: those of
/// [`SafetensorsFile::open`], and `unsupported-dtype` for anything but F32, F16 and BF16.
pub fn read_safetensors(path: &Path) -> Result<Vec<TensorView>> {
    let file = SafetensorsFile::open(path)?;
    file.names().map(|name| file.tensor(name)).collect()
}

const AGAIN: &str = "Download or copy it again.";

fn check_entry(file: &dyn fmt::Display, name: &str, raw: RawEntry, data_len: usize) -> Result<Entry> {
    let label = shorten(name);
    let Some(shape) = raw.shape.0 else {
        bail!("wrong-shape", "{file}: tensor {label} has more than {MAX_RANK} dimensions. {AGAIN}");
    };
    let [start, end] = raw.data_offsets;
    if start > end {
        bail!("bad-header", "{file}: tensor {label} ends ({end}) before it starts ({start}). {AGAIN}");
    }
    if end > data_len as u64 {
        bail!(
            "truncated-file",
            "{file}: tensor {label} lies at bytes {start} to {end} of the data, but the file holds only {data_len}. {AGAIN}"
        );
    }
    let (start, end) = (start as usize, end as usize);
    let elements = shape.iter().try_fold(1usize, |n, &d| usize::try_from(d).ok().and_then(|d| n.checked_mul(d)));
    let Some(elements) = elements else {
        bail!("wrong-shape", "{file}: tensor {label} has an impossible shape {shape:?}. {AGAIN}");
    };
    if let Some(bits) = bits_of(&raw.dtype) {
        let needed = elements.checked_mul(bits).map(|n| n.div_ceil(8));
        if needed != Some(end - start) {
            bail!(
                "wrong-shape",
                "{file}: tensor {label} of shape {shape:?} and type {} does not fit its {} bytes. {AGAIN}",
                shorten(&raw.dtype),
                end - start
            );
        }
    }
    let shape = shape.into_iter().map(|d| d as usize).collect();
    Ok(Entry { dtype: raw.dtype, shape, start, end })
}

/// Bits per element; `None` for a type younger than this list, whose size is then not checked (nor is it ever read).
fn bits_of(dtype: &str) -> Option<usize> {
    Some(match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "BOOL" | "U8" | "I8" | "F8_E5M2" | "F8_E4M3" | "F8_E8M0" => 8,
        "U16" | "I16" | "F16" | "BF16" => 16,
        "U32" | "I32" | "F32" => 32,
        "U64" | "I64" | "F64" | "C64" => 64,
        _ => return None,
    })
}

/// The ranges, sorted, must follow one another from the first byte to the last.
fn check_coverage(file: &dyn fmt::Display, tensors: &BTreeMap<String, Entry>, data_len: usize) -> Result<()> {
    let mut order: Vec<(&String, &Entry)> = tensors.iter().collect();
    order.sort_by_key(|(_, e)| (e.start, e.end));
    let mut at = 0;
    let mut before = "";
    for (name, entry) in order {
        if entry.start < at {
            bail!(
                "overlapping-tensors",
                "{file}: tensors {} and {} share bytes. {AGAIN}",
                shorten(before),
                shorten(name)
            );
        }
        if entry.start > at {
            bail!(
                "bad-header",
                "{file}: {} unclaimed bytes before tensor {}. {AGAIN}",
                entry.start - at,
                shorten(name)
            );
        }
        at = entry.end;
        before = name;
    }
    if at < data_len {
        bail!("oversized-file", "{file} holds {} bytes after its last tensor. {AGAIN}", data_len - at);
    }
    Ok(())
}

/// The JSON header, read in one pass; nothing in it can make it larger in memory than a few times its text.
struct Header {
    metadata: BTreeMap<String, String>,
    tensors: BTreeMap<String, RawEntry>,
    duplicate: Option<String>,
}

#[derive(Deserialize)]
struct RawEntry {
    dtype: String,
    shape: RawShape,
    data_offsets: [u64; 2],
}

/// `None` when there are more than `MAX_RANK` dimensions.
struct RawShape(Option<Vec<u64>>);

impl<'de> Deserialize<'de> for RawShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Dims;
        impl<'de> Visitor<'de> for Dims {
            type Value = RawShape;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of dimensions")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<RawShape, A::Error> {
                let mut dims = Vec::new();
                while let Some(dim) = seq.next_element::<u64>()? {
                    if dims.len() == MAX_RANK {
                        while seq.next_element::<IgnoredAny>()?.is_some() {}
                        return Ok(RawShape(None));
                    }
                    dims.push(dim);
                }
                Ok(RawShape(Some(dims)))
            }
        }
        deserializer.deserialize_seq(Dims)
    }
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Header;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of tensors")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Header, A::Error> {
                let mut header = Header { metadata: BTreeMap::new(), tensors: BTreeMap::new(), duplicate: None };
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        // Some writers put null here.
                        header.metadata = map.next_value::<Option<BTreeMap<String, String>>>()?.unwrap_or_default();
                        continue;
                    }
                    let entry = map
                        .next_value::<RawEntry>()
                        .map_err(|e| A::Error::custom(format!("tensor {}: {e}", shorten(&name))))?;
                    match header.tensors.entry(name) {
                        MapEntry::Vacant(place) => {
                            place.insert(entry);
                        }
                        MapEntry::Occupied(place) => header.duplicate = Some(place.key().clone()),
                    }
                }
                Ok(header)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
