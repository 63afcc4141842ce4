//! Places of the test material, folders that clean up after themselves, and small files built byte by byte.
#![allow(dead_code, reason = "shared by two test programs, each of which uses a part")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use hone_engine::error::{EngineError, Result};

/// A committed fixture.
pub fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/fixtures").join(path)
}

/// The reference material beside the repository, or where `HONE_SHARED` says; `None`, loudly, where it is absent.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("HONE_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let found = root.join(path);
    if found.exists() {
        return Some(found);
    }
    eprintln!("SKIPPED: {} is not there", found.display());
    None
}

/// A new empty folder, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("hone-formats-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into the folder.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Fails unless the result is an error with this code whose message holds all the given texts and a way out (a second
/// sentence).
#[track_caller]
pub fn assert_refused<T>(result: Result<T>, code: &str, mentions: &[&str]) -> EngineError {
    let Err(error) = result else { panic!("accepted, expected {code}") };
    assert_eq!(error.code, code, "{error}");
    for text in mentions {
        assert!(error.message.contains(text), "{text:?} is not in: {error}");
    }
    assert!(error.message.len() < 1500, "message of {} characters", error.message.len());
    error
}

/// A safetensors file: header length, header, data.
pub fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A GGUF file under construction. Tensors are placed one after the other, 32-byte aligned, unless an offset is given.
#[derive(Clone)]
pub struct Gguf {
    pub version: u32,
    pub pairs: Vec<(Vec<u8>, u32, Vec<u8>)>,
    pub tensors: Vec<GgufTensor>,
    pub tensor_count: Option<u64>,
    pub pair_count: Option<u64>,
}

#[derive(Clone)]
pub struct GgufTensor {
    pub name: Vec<u8>,
    /// GGUF order: fastest first.
    pub dims: Vec<u64>,
    pub type_id: u32,
    pub offset: Option<u64>,
    pub data: Vec<u8>,
}

impl Gguf {
    pub fn new() -> Self {
        Self { version: 3, pairs: Vec::new(), tensors: Vec::new(), tensor_count: None, pair_count: None }
    }

    pub fn raw(mut self, key: &str, type_id: u32, value: impl Into<Vec<u8>>) -> Self {
        self.pairs.push((key.into(), type_id, value.into()));
        self
    }

    pub fn u32(self, key: &str, value: u32) -> Self {
        self.raw(key, 4, value.to_le_bytes())
    }

    pub fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, 8, gguf_text(value.as_bytes()))
    }

    pub fn tensor(mut self, name: &str, dims: &[u64], type_id: u32, data: Vec<u8>) -> Self {
        self.tensors.push(GgufTensor { name: name.into(), dims: dims.to_vec(), type_id, offset: None, data });
        self
    }

    pub fn build(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.tensor_count.unwrap_or(self.tensors.len() as u64).to_le_bytes());
        bytes.extend(self.pair_count.unwrap_or(self.pairs.len() as u64).to_le_bytes());
        for (key, type_id, value) in &self.pairs {
            bytes.extend(gguf_text(key));
            bytes.extend(type_id.to_le_bytes());
            bytes.extend(value);
        }
        let mut data: Vec<u8> = Vec::new();
        for t in &self.tensors {
            bytes.extend(gguf_text(&t.name));
            bytes.extend((t.dims.len() as u32).to_le_bytes());
            bytes.extend(t.dims.iter().flat_map(|d| d.to_le_bytes()));
            bytes.extend(t.type_id.to_le_bytes());
            bytes.extend(t.offset.unwrap_or(data.len() as u64).to_le_bytes());
            data.extend(&t.data);
            data.resize(data.len().next_multiple_of(32), 0);
        }
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend(data);
        bytes
    }
}

pub fn gguf_text(text: &[u8]) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text);
    bytes
}

/// An array value: element type, count, elements.
pub fn gguf_array(type_id: u32, count: u64, elements: &[u8]) -> Vec<u8> {
    let mut bytes = type_id.to_le_bytes().to_vec();
    bytes.extend(count.to_le_bytes());
    bytes.extend(elements);
    bytes
}
