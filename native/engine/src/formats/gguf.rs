//! Reading a GGUF file (version 2 or 3, little-endian): metadata, tensor list, tensor bytes.
//! Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Names and shapes are as stored, except that shapes
//! are turned into row-major order; `checkpoint.rs` translates to Hugging Face names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::ggml_types::{dtype_of, ggml_type, tensor_bytes};
use super::gguf_cursor::{read_value, Cursor, Meta};
use super::{shorten, Bytes, Dtype, TensorView};
use crate::bail;
use crate::error::Result;

const MAX_RANK: u32 = 4;
const DEFAULT_ALIGNMENT: u32 = 32;
const MAX_ALIGNMENT: u32 = 1 << 20;
/// Array elements `metadata_json` turns into JSON values at most: four vocabularies of a million entries.
const MAX_JSON_ELEMENTS: u64 = 1 << 22;
const AGAIN: &str = "Download or copy it again.";

/// An open GGUF file: its metadata, and its tensors on demand.
pub struct GgufFile {
    path: PathBuf,
    bytes: Bytes,
    version: u32,
    metadata: BTreeMap<String, Meta>,
    tensors: BTreeMap<String, Entry>,
}

struct Entry {
    type_id: u32,
    /// Row-major: GGUF's dimensions reversed.
    shape: Vec<usize>,
    start: usize,
    end: usize,
}

impl GgufFile {
    /// Maps the file and checks metadata and tensor list. Errors: those of [`Bytes::map`] and [`GgufFile::parse`].
    pub fn open(path: &Path) -> Result<Self> {
        Self::parse(Bytes::map(path)?, path)
    }

    /// Checks a file's bytes; `path` only names it in messages. Errors: `bad-header`, `big-endian`,
    /// `unsupported-gguf-version`, `truncated-file`, `oversized-file`, `unsupported-dtype`, `duplicate-tensor`,
    /// `overlapping-tensors`, `wrong-shape`, `split-gguf`.
    pub fn parse(bytes: Bytes, path: &Path) -> Result<Self> {
        let mut cursor = Cursor { bytes: &bytes, at: 0, path };
        if bytes.get(..4) != Some(b"GGUF") {
            bail!("bad-header", "{} is not a GGUF file: it does not start with \"GGUF\". {AGAIN}", path.display());
        }
        cursor.at = 4;
        let version = cursor.u32("the version")?;
        if version & 0xffff == 0 && version != 0 {
            bail!(
                "big-endian",
                "{} is a big-endian GGUF file, made for another kind of processor. Use the ordinary little-endian file of \
                 this model.",
                path.display()
            );
        }
        if version != 2 && version != 3 {
            bail!(
                "unsupported-gguf-version",
                "{} is GGUF version {version}; versions 2 and 3 are supported. Get a newer conversion of the model.",
                path.display()
            );
        }
        let tensor_count = cursor.u64("the number of tensors")?;
        let pair_count = cursor.u64("the number of metadata entries")?;
        let metadata = read_metadata(&mut cursor, pair_count)?;
        let entries = read_tensor_list(&mut cursor, tensor_count)?;
        let header_end = cursor.at;

        let mut file =
            Self { path: path.to_path_buf(), bytes: bytes.clone(), version, metadata, tensors: BTreeMap::new() };
        if let Some(parts) = file.unsigned("split.count").filter(|&n| n > 1) {
            bail!(
                "split-gguf",
                "{} is one of {parts} parts. Join them first: llama-gguf-split --merge FIRST_PART OUTPUT.",
                path.display()
            );
        }
        let alignment = file.alignment()?;
        let data_start = header_end.next_multiple_of(alignment);
        file.tensors = place_tensors(path, entries, data_start, alignment, bytes.len())?;
        // Vocabulary and merges, megabytes of them: read once to find their ends, seldom needed again.
        if let Some(header) = bytes.slice(0..header_end) {
            header.release();
        }
        Ok(file)
    }

    /// GGUF version, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The file's path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tensor names as stored (`blk.0.attn_q.weight`), sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Row-major shape of a tensor, `None` when the file does not have it.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|e| e.shape.as_slice())
    }

    /// One tensor under its stored name, sharing the file's bytes. Errors: `missing-tensor`, `unsupported-dtype`.
    pub fn tensor(&self, name: &str) -> Result<TensorView> {
        let Some(entry) = self.tensors.get(name) else {
            bail!(
                "missing-tensor",
                "{} has no tensor {}. The file is incomplete or of another kind: {AGAIN}",
                self.path.display(),
                shorten(name)
            );
        };
        let Some(dtype) = dtype_of(entry.type_id) else {
            bail!(
                "unsupported-dtype",
                "{}: tensor {} is stored as {}. Supported: {}. Choose another quantisation of this model, such as Q4_K_M \
                 or Q8_0.",
                self.path.display(),
                shorten(name),
                ggml_type(entry.type_id).map_or("an unknown type", |t| t.0),
                Dtype::ALL.map(Dtype::name).join(", ")
            );
        };
        let Some(bytes) = self.bytes.slice(entry.start..entry.end) else {
            unreachable!("ranges were checked when the tensor list was read")
        };
        Ok(TensorView { name: name.to_string(), shape: entry.shape.clone(), dtype, bytes, row_order: None })
    }

    /// A metadata integer that is not negative.
    pub fn unsigned(&self, key: &str) -> Option<u64> {
        match *self.metadata.get(key)? {
            Meta::Unsigned(n) => Some(n),
            Meta::Signed(n) => u64::try_from(n).ok(),
            _ => None,
        }
    }

    /// A metadata float (or integer) as the shortest decimal that gives the same f32 back: 1e-5, not 9.99999974e-06.
    pub fn float(&self, key: &str) -> Option<f64> {
        match *self.metadata.get(key)? {
            Meta::F32(x) => Some(shortest(x)),
            Meta::F64(x) => Some(x),
            Meta::Unsigned(n) => Some(n as f64),
            Meta::Signed(n) => Some(n as f64),
            _ => None,
        }
    }

    /// A metadata string; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self, key: &str) -> Option<String> {
        match *self.metadata.get(key)? {
            Meta::Text(start, end) => Some(String::from_utf8_lossy(&self.bytes[start..end]).into_owned()),
            _ => None,
        }
    }

    /// True when the metadata has this key.
    pub fn has_key(&self, key: &str) -> bool {
        self.metadata.contains_key(key)
    }

    /// One metadata value as JSON; arrays of at most `limit` elements. Error: `metadata-too-large`.
    pub(super) fn value(&self, key: &str, limit: u64) -> Result<Option<Value>> {
        let mut left = limit;
        self.metadata.get(key).map(|&meta| self.to_json(key, meta, &mut left)).transpose()
    }

    /// All metadata as one JSON object, arrays included (tokens, merges, token types, chat template). Text that is not
    /// UTF-8 gets U+FFFD. Error: `metadata-too-large` beyond four million array elements.
    pub fn metadata_json(&self) -> Result<Value> {
        let mut left = MAX_JSON_ELEMENTS;
        let mut object = serde_json::Map::new();
        for (key, &meta) in &self.metadata {
            object.insert(key.clone(), self.to_json(key, meta, &mut left)?);
        }
        Ok(Value::Object(object))
    }

    fn to_json(&self, key: &str, meta: Meta, left: &mut u64) -> Result<Value> {
        Ok(match meta {
            Meta::Unsigned(n) => n.into(),
            Meta::Signed(n) => n.into(),
            Meta::F32(x) => shortest(x).into(),
            Meta::F64(x) => x.into(),
            Meta::Bool(b) => b.into(),
            Meta::Text(start, end) => String::from_utf8_lossy(&self.bytes[start..end]).into(),
            Meta::Array(element, count, at) => {
                *left = match left.checked_sub(count) {
                    Some(left) => left,
                    None => bail!(
                        "metadata-too-large",
                        "{}: metadata {} holds more than can be a vocabulary ({count} elements). {AGAIN}",
                        self.path.display(),
                        shorten(key)
                    ),
                };
                let mut cursor = Cursor { bytes: &self.bytes, at, path: &self.path };
                let mut list = Vec::with_capacity(count as usize);
                for _ in 0..count {
                    let item = read_value(&mut cursor, element, 1)?;
                    list.push(self.to_json(key, item, left)?);
                }
                Value::Array(list)
            }
        })
    }

    fn alignment(&self) -> Result<usize> {
        const KEY: &str = "general.alignment";
        if !self.has_key(KEY) {
            return Ok(DEFAULT_ALIGNMENT as usize);
        }
        match self.unsigned(KEY) {
            Some(n) if n.is_power_of_two() && n <= MAX_ALIGNMENT as u64 => Ok(n as usize),
            _ => bail!(
                "bad-header",
                "{}: {KEY} must be a power of two up to {MAX_ALIGNMENT}. {AGAIN}",
                self.path.display()
            ),
        }
    }
}

/// All metadata of a GGUF file as one JSON object: see [`GgufFile::metadata_json`].
pub fn gguf_metadata_json(path: &Path) -> Result<Value> {
    GgufFile::open(path)?.metadata_json()
}

fn shortest(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(x as f64)
}

fn read_metadata(cursor: &mut Cursor, count: u64) -> Result<BTreeMap<String, Meta>> {
    let mut metadata = BTreeMap::new();
    for _ in 0..count {
        let key = cursor.name("a metadata key")?;
        let type_id = cursor.u32("a metadata type")?;
        let value = read_value(cursor, type_id, 0)?;
        if metadata.insert(key.clone(), value).is_some() {
            bail!("bad-header", "{} has the metadata key {} twice. {AGAIN}", cursor.path.display(), shorten(&key));
        }
    }
    Ok(metadata)
}

struct RawTensor {
    name: String,
    type_id: u32,
    /// Row-major.
    shape: Vec<usize>,
    offset: u64,
}

fn read_tensor_list(cursor: &mut Cursor, count: u64) -> Result<Vec<RawTensor>> {
    let mut list = Vec::new();
    for _ in 0..count {
        let name = cursor.name("a tensor name")?;
        let rank = cursor.u32("a tensor's rank")?;
        if rank > MAX_RANK {
            bail!(
                "wrong-shape",
                "{}: tensor {} has {rank} dimensions; GGUF allows {MAX_RANK}. {AGAIN}",
                cursor.path.display(),
                shorten(&name)
            );
        }
        let mut shape = Vec::with_capacity(rank as usize);
        for _ in 0..rank {
            let dim = cursor.u64("a tensor's shape")?;
            let Ok(dim) = usize::try_from(dim) else {
                bail!(
                    "wrong-shape",
                    "{}: tensor {} is impossibly large. {AGAIN}",
                    cursor.path.display(),
                    shorten(&name)
                );
            };
            shape.push(dim);
        }
        shape.reverse();
        let type_id = cursor.u32("a tensor's type")?;
        let offset = cursor.u64("a tensor's offset")?;
        list.push(RawTensor { name, type_id, shape, offset });
    }
    Ok(list)
}

/// Gives every tensor its byte range and checks that the ranges fill the data without overlap.
fn place_tensors(
    path: &Path,
    list: Vec<RawTensor>,
    data_start: usize,
    alignment: usize,
    file_len: usize,
) -> Result<BTreeMap<String, Entry>> {
    let file = path.display();
    let mut tensors = BTreeMap::new();
    for RawTensor { name, type_id, shape, offset } in list {
        let label = shorten(&name);
        let Some((type_name, block_len, block_bytes)) = ggml_type(type_id) else {
            bail!(
                "unsupported-dtype",
                "{file}: tensor {label} has the unknown type {type_id}. Get another conversion of this model."
            );
        };
        let Some(size) = tensor_bytes(&shape, block_len, block_bytes) else {
            bail!("wrong-shape", "{file}: tensor {label} of type {type_name} cannot have the shape {shape:?}. {AGAIN}");
        };
        if offset % alignment as u64 != 0 {
            bail!("bad-header", "{file}: tensor {label} starts at {offset}, not a multiple of {alignment}. {AGAIN}");
        }
        let start = usize::try_from(offset).ok().and_then(|o| o.checked_add(data_start));
        let end = start.and_then(|s| s.checked_add(size));
        let (Some(start), Some(end)) = (start, end) else {
            bail!("bad-header", "{file}: tensor {label} has an impossible offset {offset}. {AGAIN}");
        };
        if end > file_len {
            bail!(
                "truncated-file",
                "{file}: tensor {label} needs bytes up to {end}, but the file has {file_len}. {AGAIN}"
            );
        }
        if tensors.insert(name.clone(), Entry { type_id, shape, start, end }).is_some() {
            bail!("duplicate-tensor", "{file} lists tensor {label} twice. {AGAIN}");
        }
    }
    let mut order: Vec<(&String, &Entry)> = tensors.iter().collect();
    order.sort_by_key(|(_, e)| (e.start, e.end));
    let (mut at, mut before) = (data_start, "");
    for (name, entry) in order {
        if entry.start < at {
            bail!(
                "overlapping-tensors",
                "{file}: tensors {} and {} share bytes. {AGAIN}",
                shorten(before),
                shorten(name)
            );
        }
        (at, before) = (entry.end, name);
    }
    // Writers pad the last tensor to the alignment; more than that belongs to no tensor.
    if file_len > at.next_multiple_of(alignment) {
        bail!("oversized-file", "{file} holds {} bytes after its last tensor. {AGAIN}", file_len - at);
    }
    Ok(tensors)
}
