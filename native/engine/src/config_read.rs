//! `config.json` → [`ModelConfig`], in the style of transformers 4 (`rope_theta`, `rope_scaling`) and 5
//! (`rope_parameters`). Defaults are those of the transformers configuration classes. What a model asks for and the
//! engine cannot do is refused by name: a model that silently computes something else is worse than none.

use serde_json::{Map, Value};

use crate::bail;
use crate::config::{Activation, Architecture, Llama3Scaling, ModelConfig, Rope};
use crate::error::Result;
use crate::formats::shorten;

/// The `model_type`s that can be opened.
pub const KNOWN_MODEL_TYPES: [&str; 4] = ["llama", "qwen2", "qwen3", "gemma3_text"];

const MAX_LAYERS: usize = 1024;
const MAX_WIDTH: usize = 1 << 20;
const MAX_VOCAB: usize = 1 << 24;

/// As [`config_from_json`], of a text without a generation configuration.
pub fn config_from_text(text: &str, origin: &str) -> Result<ModelConfig> {
    match serde_json::from_str(text) {
        Ok(json) => config_from_json(&json, None, origin),
        Err(e) => bail!("bad-config", "{origin} is not valid JSON: {}. Download it again.", shorten(&e.to_string())),
    }
}

/// Reads a model's configuration. `generation` is `generation_config.json`, whose end tokens are added; `origin` names
/// the file in messages. Errors: `bad-config` (missing or impossible value), `unknown-architecture`,
/// `unsupported-rope`, `unsupported-config`.
pub fn config_from_json(config: &Value, generation: Option<&Value>, origin: &str) -> Result<ModelConfig> {
    let Some(object) = config.as_object() else {
        bail!("bad-config", "{origin} is not a JSON object. Download it again.");
    };
    let json = Reader { object, origin };
    let architecture = architecture(&json)?;
    let gemma = architecture == Architecture::Gemma3;
    refuse_unsupported(&json)?;

    let hidden_size = json.size("hidden_size", MAX_WIDTH)?;
    let layers = json.size("num_hidden_layers", MAX_LAYERS)?;
    let heads = json.size("num_attention_heads", MAX_WIDTH)?;
    let kv_heads = json.optional_size("num_key_value_heads", MAX_WIDTH)?.unwrap_or(heads);
    let head_dim = match (json.optional_size("head_dim", MAX_WIDTH)?, architecture) {
        (Some(n), _) => n,
        (None, Architecture::Qwen3) => 128,
        (None, Architecture::Gemma3) => 256,
        (None, _) if hidden_size % heads == 0 => hidden_size / heads,
        (None, _) => bail!("bad-config", "{origin}: hidden_size {hidden_size} is not a multiple of {heads} heads."),
    };
    if heads % kv_heads != 0 {
        bail!("bad-config", "{origin}: {heads} attention heads cannot share {kv_heads} key-value heads evenly.");
    }
    if head_dim % 2 != 0 || heads.saturating_mul(head_dim) > MAX_WIDTH {
        bail!("bad-config", "{origin}: head_dim {head_dim} with {heads} heads is not possible.");
    }

    let (rope, rope_local) = ropes(&json, architecture)?;
    let attention_bias = json.flag("attention_bias", false)?;
    let attention_scale = match architecture {
        Architecture::Gemma3 => json.positive("query_pre_attn_scalar")?.unwrap_or(256.0),
        _ => head_dim as f64,
    };
    let eps = json.positive("rms_norm_eps")?.unwrap_or(1e-6);
    if eps > 1.0 {
        bail!("bad-config", "{origin}: rms_norm_eps {eps} is too large.");
    }
    Ok(ModelConfig {
        architecture,
        vocab_size: json.size("vocab_size", MAX_VOCAB)?,
        hidden_size,
        intermediate_size: json.size("intermediate_size", MAX_WIDTH)?,
        layers,
        heads,
        kv_heads,
        head_dim,
        rms_norm_eps: eps as f32,
        rope,
        rope_local,
        tied_embeddings: json.flag("tie_word_embeddings", gemma)?,
        qkv_bias: attention_bias || architecture == Architecture::Qwen2,
        o_bias: attention_bias && architecture != Architecture::Qwen2,
        qk_norm: matches!(architecture, Architecture::Qwen3 | Architecture::Gemma3),
        window: windows(&json, architecture, layers)?,
        attention_scale: attention_scale.powf(-0.5) as f32,
        embedding_scale: if gemma { (hidden_size as f64).sqrt() as f32 } else { 1.0 },
        norm_plus_one: gemma,
        post_norms: gemma,
        activation: activation(&json, gemma)?,
        context_length: json.optional_size("max_position_embeddings", i32::MAX as usize)?.unwrap_or(
            match architecture {
                Architecture::Llama => 2048,
                Architecture::Qwen2 | Architecture::Qwen3 => 32_768,
                Architecture::Gemma3 => 131_072,
            },
        ),
        eos_token_ids: eos_ids(&json, generation, architecture)?,
        bos_token_id: match (json.get("bos_token_id"), architecture) {
            (Some(value), _) => Some(json.token_id("bos_token_id", value)?),
            (None, Architecture::Llama) if !object.contains_key("bos_token_id") => Some(1),
            (None, Architecture::Gemma3) if !object.contains_key("bos_token_id") => Some(2),
            (None, _) => None,
        },
    })
}

fn architecture(json: &Reader) -> Result<Architecture> {
    let known = KNOWN_MODEL_TYPES.join(", ");
    match json.text("model_type")? {
        Some("llama") => Ok(Architecture::Llama),
        Some("qwen2") => Ok(Architecture::Qwen2),
        Some("qwen3") => Ok(Architecture::Qwen3),
        Some("gemma3_text") => Ok(Architecture::Gemma3),
        Some(other) => bail!(
            "unknown-architecture",
            "{}: models of type {} cannot be opened. Known types: {known}. Choose a model of one of them.",
            json.origin,
            shorten(other)
        ),
        None => bail!(
            "unknown-architecture",
            "{} has no model_type. Known types: {known}. Choose a language model's own config.json.",
            json.origin
        ),
    }
}

/// Settings that change what the model computes and that the engine does not implement.
fn refuse_unsupported(json: &Reader) -> Result<()> {
    let refuse = |what: String| -> Result<()> {
        bail!("unsupported-config", "{}: {what} is not supported. Choose a model without it.", json.origin)
    };
    for key in ["mlp_bias", "use_bidirectional_attention"] {
        if json.flag(key, false)? {
            refuse(key.to_string())?;
        }
    }
    for key in ["attn_logit_softcapping", "final_logit_softcapping"] {
        if json.get(key).is_some() {
            refuse(key.to_string())?;
        }
    }
    if let Some(factor) = json.positive("partial_rotary_factor")?.filter(|&f| f != 1.0) {
        refuse(format!("partial_rotary_factor {factor}"))?;
    }
    if let Some(quantization) = json.get("quantization_config") {
        let method = quantization.get("quant_method").and_then(Value::as_str).unwrap_or("unnamed");
        bail!(
            "unsupported-config",
            "{}: weights quantised with {} cannot be read. Choose the unquantised model, or a GGUF file of it.",
            json.origin,
            shorten(method)
        );
    }
    Ok(())
}

fn activation(json: &Reader, gemma: bool) -> Result<Activation> {
    let (key, default) = if gemma { ("hidden_activation", "gelu_pytorch_tanh") } else { ("hidden_act", "silu") };
    match json.text(key)?.unwrap_or(default) {
        "silu" | "swish" => Ok(Activation::Silu),
        "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
        other => bail!(
            "unsupported-config",
            "{}: {key} {} is not supported; silu and gelu_pytorch_tanh are.",
            json.origin,
            shorten(other)
        ),
    }
}

/// The rotary embeddings of full and of sliding-window layers (the latter for Gemma 3 only).
fn ropes(json: &Reader, architecture: Architecture) -> Result<(Rope, Option<Rope>)> {
    let gemma = architecture == Architecture::Gemma3;
    let default_theta = if gemma { 1_000_000.0 } else { 10_000.0 };
    let theta = json.positive("rope_theta")?.unwrap_or(default_theta);
    let scaling = json.object("rope_scaling")?;
    let parameters = json.object("rope_parameters")?;
    let nested = |key: &str| -> Result<Option<Reader>> {
        match &parameters {
            Some(p) => p.object(key),
            None => Ok(None),
        }
    };
    let full = nested("full_attention")?;
    let sliding = nested("sliding_attention")?;
    if full.is_none() && sliding.is_none() {
        // transformers 5 lets a non-empty `rope_scaling` win over `rope_parameters`.
        let rope = read_rope(scaling.as_ref().or(parameters.as_ref()), theta)?;
        if !gemma {
            return Ok((rope, None));
        }
        let local_theta = json.positive("rope_local_base_freq")?.unwrap_or(10_000.0);
        return Ok((rope, Some(read_rope(None, local_theta)?)));
    }
    let rope = read_rope(full.as_ref(), theta)?;
    let local_theta = json.positive("rope_local_base_freq")?.unwrap_or(10_000.0);
    let local = read_rope(sliding.as_ref(), local_theta)?;
    Ok((rope, gemma.then_some(local)))
}

/// One set of rope parameters; `rope_type` (older: `type`) chooses the kind.
fn read_rope(parameters: Option<&Reader>, theta: f64) -> Result<Rope> {
    let plain = Rope { theta, llama3: None, linear_factor: 1.0 };
    let Some(p) = parameters else { return Ok(plain) };
    let theta = p.positive("rope_theta")?.unwrap_or(theta);
    if let Some(factor) = p.positive("partial_rotary_factor")?.filter(|&f| f != 1.0) {
        bail!("unsupported-rope", "{}: partial_rotary_factor {factor} is not supported.", p.origin);
    }
    let kind = match p.text("rope_type")? {
        Some(kind) => kind,
        None => p.text("type")?.unwrap_or("default"),
    };
    let required = |key: &str| -> Result<f64> {
        match p.positive(key)? {
            Some(value) => Ok(value),
            None => bail!("bad-config", "{}: rope type {kind} needs {key}.", p.origin),
        }
    };
    match kind {
        "default" => Ok(Rope { theta, ..plain }),
        "linear" => Ok(Rope { theta, linear_factor: required("factor")?, ..plain }),
        "llama3" => {
            let scaling = Llama3Scaling {
                factor: required("factor")? as f32,
                low_freq_factor: required("low_freq_factor")? as f32,
                high_freq_factor: required("high_freq_factor")? as f32,
                original_max_position: required("original_max_position_embeddings")? as f32,
            };
            if scaling.high_freq_factor <= scaling.low_freq_factor {
                bail!("bad-config", "{}: high_freq_factor must be above low_freq_factor.", p.origin);
            }
            Ok(Rope { theta, llama3: Some(scaling), ..plain })
        }
        other => bail!(
            "unsupported-rope",
            "{}: rope type {} is not supported; default, linear and llama3 are. Choose a model of another kind.",
            p.origin,
            shorten(other)
        ),
    }
}

/// Each layer's attention window, from `layer_types` or the rules that came before it.
fn windows(json: &Reader, architecture: Architecture, layers: usize) -> Result<Vec<Option<usize>>> {
    let window = json.optional_size("sliding_window", i32::MAX as usize)?;
    let window = match architecture {
        Architecture::Llama => return Ok(vec![None; layers]),
        Architecture::Qwen2 | Architecture::Qwen3 => {
            if !json.flag("use_sliding_window", false)? {
                return Ok(vec![None; layers]);
            }
            window.or((!json.object.contains_key("sliding_window")).then_some(4096))
        }
        Architecture::Gemma3 => Some(window.unwrap_or(4096)),
    };
    if let Some(types) = json.get("layer_types") {
        let Some(types) = types.as_array().filter(|t| t.len() == layers) else {
            bail!("bad-config", "{}: layer_types must name the kind of each of the {layers} layers.", json.origin);
        };
        return types
            .iter()
            .map(|kind| match (kind.as_str(), window) {
                (Some("full_attention"), _) => Ok(None),
                (Some("sliding_attention"), Some(window)) => Ok(Some(window)),
                (Some("sliding_attention"), None) => {
                    bail!("bad-config", "{}: layer_types has sliding layers, but sliding_window is null.", json.origin)
                }
                _ => bail!(
                    "unsupported-config",
                    "{}: layer type {} is not supported.",
                    json.origin,
                    shorten(&kind.to_string())
                ),
            })
            .collect();
    }
    if architecture == Architecture::Gemma3 {
        let pattern = match json.optional_size("sliding_window_pattern", MAX_LAYERS)? {
            Some(n) => n,
            None => json.optional_size("_sliding_window_pattern", MAX_LAYERS)?.unwrap_or(6),
        };
        return Ok((1..=layers).map(|n| if n % pattern == 0 { None } else { window }).collect());
    }
    // Qwen2 and Qwen3: the first max_window_layers attend to everything. 0 is allowed here.
    let first = match json.get("max_window_layers") {
        None => 28,
        Some(value) => match value.as_u64() {
            Some(n) => n as usize,
            None => bail!("bad-config", "{}: max_window_layers must be a number.", json.origin),
        },
    };
    Ok((0..layers).map(|n| if n >= first { window } else { None }).collect())
}

/// End-of-sequence ids of both files, in order, each once.
fn eos_ids(json: &Reader, generation: Option<&Value>, architecture: Architecture) -> Result<Vec<i32>> {
    let mut ids = Vec::new();
    let mut add = |value: Option<&Value>| -> Result<()> {
        let list = match value {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        if list.len() > 1000 {
            bail!("bad-config", "{}: eos_token_id lists {} tokens.", json.origin, list.len());
        }
        for value in list {
            let id = json.token_id("eos_token_id", value)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(())
    };
    match (json.object.get("eos_token_id"), architecture) {
        (None, Architecture::Llama) => add(Some(&Value::from(2)))?,
        (None, Architecture::Gemma3) => add(Some(&Value::from(1)))?,
        (value, _) => add(value)?,
    }
    add(generation.and_then(|g| g.get("eos_token_id")))?;
    Ok(ids)
}

/// A JSON object with checked access; null counts as absent.
struct Reader<'a> {
    object: &'a Map<String, Value>,
    origin: &'a str,
}

impl<'a> Reader<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|v| !v.is_null())
    }

    fn wrong(&self, key: &str, expected: &str, value: &Value) -> crate::error::EngineError {
        crate::error::EngineError::new(
            "bad-config",
            format!("{}: {key} must be {expected}, not {}.", self.origin, shorten(&value.to_string())),
        )
    }

    /// A whole number from 1 to `max`; also as 64.0.
    fn optional_size(&self, key: &str, max: usize) -> Result<Option<usize>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number =
            value.as_u64().or_else(|| value.as_f64().filter(|x| x.fract() == 0.0 && *x >= 0.0).map(|x| x as u64));
        match number {
            Some(n) if n >= 1 && n <= max as u64 => Ok(Some(n as usize)),
            _ => Err(self.wrong(key, &format!("a whole number from 1 to {max}"), value)),
        }
    }

    fn size(&self, key: &str, max: usize) -> Result<usize> {
        match self.optional_size(key, max)? {
            Some(n) => Ok(n),
            None => bail!("bad-config", "{} has no {key}. Choose the config.json of a complete model.", self.origin),
        }
    }

    fn positive(&self, key: &str) -> Result<Option<f64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_f64() {
            Some(x) if x > 0.0 && x <= f32::MAX as f64 => Ok(Some(x)),
            _ => Err(self.wrong(key, "a number above 0", value)),
        }
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| self.wrong(key, "true or false", value)),
        }
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.get(key).map(|value| value.as_str().ok_or_else(|| self.wrong(key, "a text", value))).transpose()
    }

    fn object(&self, key: &str) -> Result<Option<Reader<'a>>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(Reader { object, origin: self.origin })),
            Some(value) => Err(self.wrong(key, "an object", value)),
        }
    }

    fn token_id(&self, key: &str, value: &Value) -> Result<i32> {
        let id = value.as_i64().and_then(|n| i32::try_from(n).ok()).filter(|&n| n >= 0);
        id.ok_or_else(|| self.wrong(key, "a token id", value))
    }
}
