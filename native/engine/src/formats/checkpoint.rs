//! A model on disk, whatever its format: configuration, and weights under their Hugging Face names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::Value;

use super::bytes::{io_error, read_small};
use super::gguf_config::config_json_from_gguf;
use super::{shorten, Bytes, Dtype, GgufFile, SafetensorsFile, TensorView};
use crate::bail;
use crate::config::{Architecture, ModelConfig};
use crate::config_read::config_from_json;
use crate::error::Result;

const MAX_CONFIG: u64 = 1 << 20;
const MAX_INDEX: u64 = 32 << 20;
const MAX_SHARDS: usize = 4096;
const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";

/// An open model: every tensor its architecture needs is present, with the right shape and a readable type.
pub struct Checkpoint {
    pub config: ModelConfig,
    /// The original `config.json`, or what it would be for a GGUF file: write this when saving the model.
    pub config_json: Value,
    /// The folder or file that was opened.
    pub path: PathBuf,
    /// Bytes of all needed tensors as stored.
    pub weight_bytes: u64,
    /// Needed tensors in model order.
    needed: Vec<(String, Vec<usize>)>,
    source: Source,
}

enum Source {
    /// Files, and which one holds a tensor.
    Safetensors(Vec<SafetensorsFile>, BTreeMap<String, usize>),
    Gguf(GgufFile),
}

impl Checkpoint {
    /// Weights in all.
    pub fn parameters(&self) -> u64 {
        self.needed.iter().map(|(_, shape)| shape.iter().product::<usize>() as u64).sum()
    }

    /// Opens a folder with `config.json` and safetensors (one file, or shards with an index), a `.gguf` file, or a folder
    /// holding exactly one. Reads headers only. Errors: `file-not-found`, `not-a-checkpoint`, `bad-index`,
    /// `missing-tensor`, `unexpected-tensor`, `wrong-shape`, and those of the readers of each format.
    pub fn open(path: &Path) -> Result<Self> {
        let meta = std::fs::metadata(path).map_err(|e| io_error("open", path, &e))?;
        if meta.is_file() {
            let is_gguf = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf"));
            if !is_gguf && path.extension().is_some_and(|e| e == "safetensors") {
                bail!(
                    "not-a-checkpoint",
                    "{} is one weights file. Open the folder that holds it, its config.json and its tokenizer.",
                    path.display()
                );
            }
            return Self::open_gguf(path, path);
        }
        if path.join(SINGLE).exists() || path.join(INDEX).exists() {
            return Self::open_folder(path);
        }
        let mut gguf = Vec::new();
        let mut pickled = false;
        for entry in std::fs::read_dir(path).map_err(|e| io_error("list", path, &e))? {
            let file = entry.map_err(|e| io_error("list", path, &e))?.path();
            match file.extension().and_then(|e| e.to_str()) {
                Some(e) if e.eq_ignore_ascii_case("gguf") => gguf.push(file),
                Some("bin" | "pt" | "pth") => pickled = true,
                _ => {}
            }
        }
        match gguf.as_slice() {
            [one] => Self::open_gguf(one, path),
            [] if pickled => bail!(
                "not-a-checkpoint",
                "{} holds PyTorch pickle files (.bin), which are not opened because they can run code. Convert them to \
                 safetensors, or download the safetensors version.",
                path.display()
            ),
            [] => bail!(
                "not-a-checkpoint",
                "{} holds no model: expected config.json with {SINGLE} (or shards with {INDEX}), or one .gguf file.",
                path.display()
            ),
            many => bail!(
                "not-a-checkpoint",
                "{} holds {} .gguf files. Open the one you mean by its own path.",
                path.display(),
                many.len()
            ),
        }
    }

    fn open_gguf(file: &Path, path: &Path) -> Result<Self> {
        let gguf = GgufFile::open(file)?;
        let config_json = config_json_from_gguf(&gguf)?;
        let config = config_from_json(&config_json, None, &file.display().to_string())?;
        let needed = expected_tensors(&config);
        let known: BTreeSet<String> = needed.iter().filter_map(|(name, _)| gguf_name(&config, name)).collect();
        for name in gguf.names() {
            if !known.contains(name) && name != "rope_freqs.weight" {
                unexpected(file, name)?;
            }
        }
        Self { config, config_json, path: path.into(), weight_bytes: 0, needed, source: Source::Gguf(gguf) }.checked()
    }

    fn open_folder(folder: &Path) -> Result<Self> {
        let config_path = folder.join("config.json");
        let mut config_json = read_json(&config_path)?;
        let generation_path = folder.join("generation_config.json");
        let generation = if generation_path.exists() { Some(read_json(&generation_path)?) } else { None };
        let mut config = config_from_json(&config_json, generation.as_ref(), &config_path.display().to_string())?;

        let (files, holder) = open_weights(folder)?;
        if config.tied_embeddings && differs_from_embedding(&files, &holder)? {
            // As in transformers 5: a head stored with other values than the embedding is a head of its own.
            config.tied_embeddings = false;
            if let Some(object) = config_json.as_object_mut() {
                object.insert("tie_word_embeddings".into(), false.into());
            }
        }
        let needed = expected_tensors(&config);
        let known: BTreeSet<&str> = needed.iter().map(|(name, _)| name.as_str()).collect();
        for (name, &file) in &holder {
            let harmless = !name.starts_with("model.") || name.ends_with(".rotary_emb.inv_freq");
            if !harmless && !known.contains(name.as_str()) {
                unexpected(files[file].path(), name)?;
            }
        }
        let source = Source::Safetensors(files, holder);
        Self { config, config_json, path: folder.into(), weight_bytes: 0, needed, source }.checked()
    }

    /// Looks at every needed tensor once (its header entry, not its values).
    fn checked(mut self) -> Result<Self> {
        let mut total = 0;
        for (name, shape) in &self.needed {
            let stored = self.stored(name)?;
            if &stored.shape != shape {
                bail!(
                    "wrong-shape",
                    "{}: tensor {name} has shape {:?}, but the configuration asks for {shape:?}. Weights and config do not \
                     belong together: download the model again.",
                    self.path.display(),
                    stored.shape
                );
            }
            total += stored.bytes.len() as u64;
        }
        self.weight_bytes = total;
        Ok(self)
    }

    /// The tensor as it lies in the file, under the file's name for it.
    fn stored(&self, name: &str) -> Result<TensorView> {
        match &self.source {
            Source::Safetensors(files, holder) => match holder.get(name) {
                Some(&file) => files[file].tensor(name),
                None => bail!(
                    "missing-tensor",
                    "{} has no tensor {}. The checkpoint is incomplete: download it again.",
                    self.path.display(),
                    shorten(name)
                ),
            },
            Source::Gguf(file) => match gguf_name(&self.config, name) {
                Some(stored) => file.tensor(&stored),
                None => bail!("missing-tensor", "{} has no tensor {}.", self.path.display(), shorten(name)),
            },
        }
    }

    /// One tensor under its Hugging Face name (`model.layers.0.self_attn.q_proj.weight`), row-major `[out, in]`, as
    /// Hugging Face stores it. Its bytes are those of the file, with a row order where GGUF has another (Llama's q and k);
    /// Gemma's norms, which GGUF stores as w + 1, are an owned copy. Errors: `missing-tensor`, `unsupported-dtype`,
    /// `non-finite-weights` (norms).
    pub fn tensor(&self, name: &str) -> Result<TensorView> {
        if !self.has(name) {
            bail!("missing-tensor", "{} has no tensor {}.", self.path.display(), shorten(name));
        }
        let mut tensor = self.stored(name)?;
        tensor.name = name.to_string();
        if !matches!(self.source, Source::Gguf(_)) {
            return Ok(tensor);
        }
        match self.config.architecture {
            Architecture::Llama if name.contains(".q_proj.") => Ok(interleaved(tensor, self.config.heads)),
            Architecture::Llama if name.contains(".k_proj.") => Ok(interleaved(tensor, self.config.kv_heads)),
            Architecture::Gemma3 if name.ends_with("norm.weight") => {
                let bytes: Vec<u8> = tensor.to_f32()?.iter().flat_map(|w| (w - 1.0).to_le_bytes()).collect();
                Ok(TensorView { dtype: Dtype::F32, bytes: Bytes::from(bytes), ..tensor })
            }
            _ => Ok(tensor),
        }
    }

    /// True for the tensors the model computes with; a tied model has no `lm_head.weight`.
    pub fn has(&self, name: &str) -> bool {
        self.needed.iter().any(|(n, _)| n == name)
    }

    /// Names of the tensors the model computes with, in model order: embedding, layers, final norm, head.
    pub fn names(&self) -> Vec<String> {
        self.needed.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// Every tensor a model of this configuration has, Hugging Face name and shape, in model order.
pub fn expected_tensors(c: &ModelConfig) -> Vec<(String, Vec<usize>)> {
    let (hidden, ffn) = (c.hidden_size, c.intermediate_size);
    let (q, kv) = (c.heads * c.head_dim, c.kv_heads * c.head_dim);
    let mut list = vec![("model.embed_tokens.weight".to_string(), vec![c.vocab_size, hidden])];
    for layer in 0..c.layers {
        let mut add = |name: &str, shape: &[usize]| list.push((format!("model.layers.{layer}.{name}"), shape.to_vec()));
        add("input_layernorm.weight", &[hidden]);
        for (name, rows) in [("q_proj", q), ("k_proj", kv), ("v_proj", kv)] {
            add(&format!("self_attn.{name}.weight"), &[rows, hidden]);
            if c.qkv_bias {
                add(&format!("self_attn.{name}.bias"), &[rows]);
            }
        }
        if c.qk_norm {
            add("self_attn.q_norm.weight", &[c.head_dim]);
            add("self_attn.k_norm.weight", &[c.head_dim]);
        }
        add("self_attn.o_proj.weight", &[hidden, q]);
        if c.o_bias {
            add("self_attn.o_proj.bias", &[hidden]);
        }
        add("post_attention_layernorm.weight", &[hidden]);
        if c.post_norms {
            add("pre_feedforward_layernorm.weight", &[hidden]);
        }
        add("mlp.gate_proj.weight", &[ffn, hidden]);
        add("mlp.up_proj.weight", &[ffn, hidden]);
        add("mlp.down_proj.weight", &[hidden, ffn]);
        if c.post_norms {
            add("post_feedforward_layernorm.weight", &[hidden]);
        }
    }
    list.push(("model.norm.weight".to_string(), vec![hidden]));
    if !c.tied_embeddings {
        list.push(("lm_head.weight".to_string(), vec![c.vocab_size, hidden]));
    }
    list
}

/// llama.cpp's name for a tensor. What follows attention's norm differs between Gemma and the others.
fn gguf_name(config: &ModelConfig, name: &str) -> Option<String> {
    match name {
        "model.embed_tokens.weight" => return Some("token_embd.weight".into()),
        "model.norm.weight" => return Some("output_norm.weight".into()),
        "lm_head.weight" => return Some("output.weight".into()),
        _ => {}
    }
    let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let (module, kind) = rest.rsplit_once('.')?;
    let stored = match module {
        "input_layernorm" => "attn_norm",
        "self_attn.q_proj" => "attn_q",
        "self_attn.k_proj" => "attn_k",
        "self_attn.v_proj" => "attn_v",
        "self_attn.o_proj" => "attn_output",
        "self_attn.q_norm" => "attn_q_norm",
        "self_attn.k_norm" => "attn_k_norm",
        "post_attention_layernorm" if config.post_norms => "post_attention_norm",
        "post_attention_layernorm" => "ffn_norm",
        "pre_feedforward_layernorm" => "ffn_norm",
        "post_feedforward_layernorm" => "post_ffw_norm",
        "mlp.gate_proj" => "ffn_gate",
        "mlp.up_proj" => "ffn_up",
        "mlp.down_proj" => "ffn_down",
        _ => return None,
    };
    Some(format!("blk.{layer}.{stored}.{kind}"))
}

/// llama.cpp interleaves the two halves of each head's rows (its RoPE turns neighbours, ours halves): row h · head_dim/2 + j
/// of a head lies at its row 2j + h.
fn interleaved(tensor: TensorView, heads: usize) -> TensorView {
    let rows = tensor.shape[0];
    let head_dim = rows / heads;
    let half = head_dim / 2;
    let order = (0..rows).map(|row| {
        let (head, row) = (row / head_dim, row % head_dim);
        (head * head_dim + 2 * (row % half) + row / half) as u32
    });
    TensorView { row_order: Some(order.collect()), ..tensor }
}

fn unexpected(file: &Path, name: &str) -> Result<()> {
    bail!(
        "unexpected-tensor",
        "{} holds a tensor this architecture has no use for: {}. The model is of a kind that is not supported, or its \
         configuration does not belong to it.",
        file.display(),
        shorten(name)
    )
}

fn read_json(path: &Path) -> Result<Value> {
    match serde_json::from_slice(&read_small(path, MAX_CONFIG)?) {
        Ok(value) => Ok(value),
        Err(e) => {
            bail!("bad-config", "{} is not valid JSON: {}. Download it again.", path.display(), shorten(&e.to_string()))
        }
    }
}

/// Opens `model.safetensors`, or all shards the index names.
fn open_weights(folder: &Path) -> Result<(Vec<SafetensorsFile>, BTreeMap<String, usize>)> {
    let single = folder.join(SINGLE);
    if single.exists() {
        let file = SafetensorsFile::open(&single)?;
        let holder = file.names().map(|name| (name.to_string(), 0)).collect();
        return Ok((vec![file], holder));
    }
    let index_path = folder.join(INDEX);
    let at = index_path.display();
    let index: Index = match serde_json::from_slice(&read_small(&index_path, MAX_INDEX)?) {
        Ok(index) => index,
        Err(e) => bail!("bad-index", "{at} is malformed: {}. Download it again.", shorten(&e.to_string())),
    };
    if let Some(name) = index.weight_map.duplicate {
        bail!("bad-index", "{at} lists tensor {} twice. Download it again.", shorten(&name));
    }
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut files = Vec::new();
    let mut holder = BTreeMap::new();
    for (name, shard) in index.weight_map.shards {
        let number = match numbers.get(&shard) {
            Some(&number) => number,
            None => {
                if !is_plain_shard_name(&shard) {
                    bail!(
                        "bad-index",
                        "{at} names the shard {}: a shard must be a .safetensors file in the same folder. Do not use this \
                         model unless you trust its origin.",
                        shorten(&shard)
                    );
                }
                if files.len() == MAX_SHARDS {
                    bail!("bad-index", "{at} names more than {MAX_SHARDS} shards. Download it again.");
                }
                let path = folder.join(&shard);
                if !path.exists() {
                    bail!("missing-shard", "{} is missing, but {INDEX} needs it. Download it again.", path.display());
                }
                files.push(SafetensorsFile::open(&path)?);
                numbers.insert(shard, files.len() - 1);
                files.len() - 1
            }
        };
        if !files[number].has(&name) {
            bail!(
                "missing-tensor",
                "{} does not hold tensor {}, which {INDEX} says it does. Download both again.",
                files[number].path().display(),
                shorten(&name)
            );
        }
        holder.insert(name, number);
    }
    Ok((files, holder))
}

/// One path component, no separators of any system, no drive letters, no hidden or parent names.
fn is_plain_shard_name(name: &str) -> bool {
    name.ends_with(".safetensors")
        && name.len() <= 255
        && !name.starts_with('.')
        && !name.contains(['/', '\\', ':', '\0'])
        && Path::new(name).components().count() == 1
}

/// True when the files hold an `lm_head.weight` with other values than the embedding.
fn differs_from_embedding(files: &[SafetensorsFile], holder: &BTreeMap<String, usize>) -> Result<bool> {
    let find = |name: &str| holder.get(name).map(|&file| files[file].tensor(name)).transpose();
    match (find("lm_head.weight")?, find("model.embed_tokens.weight")?) {
        (Some(head), Some(embedding)) => {
            Ok(head.shape != embedding.shape || head.dtype != embedding.dtype || head.bytes[..] != embedding.bytes[..])
        }
        _ => Ok(false),
    }
}

#[derive(Deserialize)]
struct Index {
    weight_map: WeightMap,
}

struct WeightMap {
    shards: BTreeMap<String, String>,
    duplicate: Option<String>,
}

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Shards;
        impl<'de> Visitor<'de> for Shards {
            type Value = WeightMap;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of tensor and file names")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<WeightMap, A::Error> {
                let mut weights = WeightMap { shards: BTreeMap::new(), duplicate: None };
                while let Some((name, shard)) = map.next_entry::<String, String>()? {
                    if weights.shards.insert(name.clone(), shard).is_some() {
                        weights.duplicate = Some(name);
                    }
                }
                Ok(weights)
            }
        }
        deserializer.deserialize_map(Shards)
    }
}
