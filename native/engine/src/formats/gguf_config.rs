//! GGUF metadata → the `config.json` the same model has as a Hugging Face folder, so that one reader serves both and a
//! model opened from GGUF can be saved as a folder. Keys: `gguf-py/gguf/constants.py`; how llama.cpp's converter fills
//! them: `convert_hf_to_gguf.py`.

use serde_json::{json, Map, Value};

use super::{shorten, GgufFile};
use crate::bail;
use crate::error::Result;

/// GGUF architecture, `model_type`, `architectures` entry.
const KNOWN: [(&str, &str, &str); 4] = [
    ("llama", "llama", "LlamaForCausalLM"),
    ("qwen2", "qwen2", "Qwen2ForCausalLM"),
    ("qwen3", "qwen3", "Qwen3ForCausalLM"),
    ("gemma3", "gemma3_text", "Gemma3ForCausalLM"),
];

/// Writes the configuration of a GGUF model. Errors: `unknown-architecture`, `bad-config`, `unsupported-rope`,
/// `unsupported-config`, `missing-tensor` (no token embedding).
pub(super) fn config_json_from_gguf(file: &GgufFile) -> Result<Value> {
    let path = file.path().display();
    let name = file.text("general.architecture").unwrap_or_default();
    let Some((arch, model_type, class)) = KNOWN.into_iter().find(|(arch, ..)| *arch == name) else {
        bail!(
            "unknown-architecture",
            "{path}: models of architecture {} cannot be opened. Known: {}. Choose a model of one of them.",
            if name.is_empty() { "(none given)".into() } else { shorten(&name) },
            KNOWN.map(|(arch, ..)| arch).join(", ")
        );
    };
    let key = |suffix: &str| format!("{arch}.{suffix}");
    let required = |suffix: &str| match file.unsigned(&key(suffix)) {
        Some(n) => Ok(n),
        None => bail!("bad-config", "{path} has no metadata {}. Get another conversion of this model.", key(suffix)),
    };
    if file.unsigned(&key("expert_count")).is_some_and(|n| n > 0) {
        bail!("unsupported-config", "{path}: mixture-of-experts models are not supported yet. Choose a dense model.");
    }
    let Some(&[vocab, hidden]) = file.shape("token_embd.weight") else {
        bail!("missing-tensor", "{path} has no token embedding (token_embd.weight). Download it again.");
    };

    let heads = required("attention.head_count")?.max(1);
    let head_dim = match (file.unsigned(&key("attention.key_length")), file.unsigned(&key("rope.dimension_count"))) {
        (Some(n), _) => n,
        (None, Some(n)) if arch == "llama" => n,
        (None, _) => hidden as u64 / heads,
    };
    let rotated = file.unsigned(&key("rope.dimension_count")).unwrap_or(head_dim);
    if rotated != head_dim {
        bail!(
            "unsupported-rope",
            "{path}: only {rotated} of {head_dim} head dimensions are rotated; that is not supported."
        );
    }
    if file.unsigned(&key("attention.value_length")).is_some_and(|n| n != head_dim) {
        bail!("unsupported-config", "{path}: value heads of another size than key heads are not supported.");
    }
    let biased = |tensor: &str| file.shape(tensor).is_some();
    let attention_bias = biased("blk.0.attn_q.bias") && arch != "qwen2";
    if attention_bias != biased("blk.0.attn_output.bias") {
        bail!("unsupported-config", "{path}: biases on only some of the attention projections are not supported.");
    }

    let Some(eps) = file.float(&key("attention.layer_norm_rms_epsilon")) else {
        let name = key("attention.layer_norm_rms_epsilon");
        bail!("bad-config", "{path} has no metadata {name}. Get another conversion of this model.");
    };

    let mut config = Map::new();
    let mut set = |key: &str, value: Value| config.insert(key.to_string(), value);
    set("architectures", json!([class]));
    set("model_type", json!(model_type));
    set("vocab_size", json!(vocab));
    set("hidden_size", json!(required("embedding_length")?));
    set("intermediate_size", json!(required("feed_forward_length")?));
    set("num_hidden_layers", json!(required("block_count")?));
    set("num_attention_heads", json!(heads));
    set("num_key_value_heads", json!(file.unsigned(&key("attention.head_count_kv")).unwrap_or(heads)));
    set("head_dim", json!(head_dim));
    set("max_position_embeddings", json!(required("context_length")?));
    set("rms_norm_eps", json!(eps));
    set("tie_word_embeddings", json!(file.shape("output.weight").is_none()));
    set("attention_bias", json!(attention_bias));
    set("torch_dtype", json!("float32"));
    let default_theta = if arch == "gemma3" { 1e6 } else { 1e4 };
    let theta = file.float(&key("rope.freq_base")).unwrap_or(default_theta);
    set("rope_theta", json!(theta));
    set("rope_scaling", rope_scaling(file, arch, theta, head_dim)?);
    if arch == "gemma3" {
        set("hidden_activation", json!("gelu_pytorch_tanh"));
        set("rope_local_base_freq", json!(file.float(&key("rope.freq_base_swa")).unwrap_or(1e4)));
        set("query_pre_attn_scalar", query_scale(file, head_dim, hidden as u64 / heads));
        set("sliding_window", json!(required("attention.sliding_window")?));
        let block_count = required("block_count")?;
        let pattern = match file.value(&key("attention.sliding_window_pattern"), 1024)? {
            None => json!(6),
            Some(pattern) => pattern,
        };
        match pattern {
            Value::Array(layers) => {
                let kind =
                    |sliding: &Value| if sliding == &json!(true) { "sliding_attention" } else { "full_attention" };
                set("layer_types", layers.iter().map(kind).collect());
            }
            every => {
                let Some(n) = every.as_u64().filter(|&n| n > 0 && block_count <= 1024) else {
                    bail!("bad-config", "{path}: {} is not a layer pattern.", key("attention.sliding_window_pattern"));
                };
                let kind = |i| if i % n == 0 { "full_attention" } else { "sliding_attention" };
                set("layer_types", (1..=block_count).map(kind).collect());
            }
        }
        for (suffix, name) in [
            ("attn_logit_softcapping", "attn_logit_softcapping"),
            ("final_logit_softcapping", "final_logit_softcapping"),
        ] {
            if let Some(cap) = file.float(&key(suffix)).filter(|&c| c != 0.0) {
                set(name, json!(cap));
            }
        }
    } else {
        set("hidden_act", json!("silu"));
    }
    set("bos_token_id", file.unsigned("tokenizer.ggml.bos_token_id").into());
    set("eos_token_id", eos_ids(file)?);
    if let Some(pad) = file.unsigned("tokenizer.ggml.padding_token_id") {
        set("pad_token_id", json!(pad));
    }
    Ok(Value::Object(config))
}

/// llama.cpp scales Gemma 3's scores by head_dim^-0.5, except in the 27B model (62 layers), whose conversion does not
/// record query_pre_attn_scalar = hidden / heads.
fn query_scale(file: &GgufFile, head_dim: u64, width_per_head: u64) -> Value {
    match file.float("gemma3.attention.scale") {
        Some(scale) if scale > 0.0 => json!(scale.powi(-2)),
        _ if file.unsigned("gemma3.block_count") == Some(62) => json!(width_per_head),
        _ => json!(head_dim),
    }
}

/// End of sequence, of turn and of message all end a generation.
fn eos_ids(file: &GgufFile) -> Result<Value> {
    let mut ids: Vec<Value> = Vec::new();
    for key in ["eos_token_id", "eot_token_id", "eom_token_id"] {
        if let Some(id) = file.unsigned(&format!("tokenizer.ggml.{key}")).map(Value::from) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    if let Some(Value::Array(more)) = file.value("tokenizer.ggml.eos_token_ids", 1000)? {
        for id in more {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    Ok(match ids.len() {
        0 => Value::Null,
        1 => ids.remove(0),
        _ => Value::Array(ids),
    })
}

fn rope_scaling(file: &GgufFile, arch: &str, theta: f64, head_dim: u64) -> Result<Value> {
    let path = file.path().display();
    let key = |suffix: &str| format!("{arch}.rope.{suffix}");
    if file.shape("rope_freqs.weight").is_some() {
        return llama3_scaling(file, arch, theta, head_dim);
    }
    let factor = file.float(&key("scaling.factor")).or_else(|| file.float(&key("scale_linear")));
    match file.text(&key("scaling.type")).as_deref() {
        None | Some("linear") => Ok(match factor {
            Some(factor) if factor != 1.0 && factor != 0.0 => json!({ "rope_type": "linear", "factor": factor }),
            _ => Value::Null,
        }),
        Some("none") => Ok(Value::Null),
        Some(other) => bail!(
            "unsupported-rope",
            "{path}: rope scaling {} is not supported; linear and llama3 are. Choose a model of another kind.",
            shorten(other)
        ),
    }
}

/// GGUF stores llama3 scaling as the factor of every frequency. Within the ramp between the two wavelengths
/// 1/factor_i = (1 - s)/factor + s with s = (original / wavelength - low) / (high - low), a straight line in
/// 1/wavelength, so `factor`, `high` and `original` follow from the list once `low` is fixed, to its usual 1.
fn llama3_scaling(file: &GgufFile, arch: &str, theta: f64, head_dim: u64) -> Result<Value> {
    let path = file.path().display();
    let stored = file.tensor("rope_freqs.weight")?.to_f32()?;
    if stored.len() as u64 != head_dim / 2 || stored.iter().any(|&f| f < 1.0) {
        bail!(
            "unsupported-rope",
            "{path}: rope_freqs.weight is not a llama3 scaling. Get another conversion of this model."
        );
    }
    let factor = stored.iter().fold(1.0f32, |a, &b| a.max(b)) as f64;
    if factor == 1.0 {
        return Ok(Value::Null);
    }
    let inverse_wavelength = |i: usize| theta.powf(-2.0 * i as f64 / head_dim as f64) / (2.0 * std::f64::consts::PI);
    let matches = |high: f64, original: f64| {
        stored.iter().enumerate().all(|(i, &f)| {
            let ramp = ((original * inverse_wavelength(i) - 1.0) / (high - 1.0)).clamp(0.0, 1.0);
            let expected = 1.0 / ((1.0 - ramp) / factor + ramp);
            (expected - f as f64).abs() <= 1e-4 * expected
        })
    };
    let mut candidates = vec![(4.0, 8192.0)];
    if let Some(original) = file.float(&format!("{arch}.rope.scaling.original_context_length")) {
        candidates.push((4.0, original));
    }
    // The line through the first and last point of the ramp.
    let on_ramp: Vec<(f64, f64)> = stored
        .iter()
        .enumerate()
        .filter(|(_, &f)| f > 1.0 + 1e-6 && (f as f64) < factor * (1.0 - 1e-6))
        .map(|(i, &f)| (inverse_wavelength(i), (1.0 / f as f64 - 1.0 / factor) / (1.0 - 1.0 / factor)))
        .collect();
    if let (Some(first), Some(last)) = (on_ramp.first(), on_ramp.last()) {
        let slope = (last.1 - first.1) / (last.0 - first.0);
        let low_over_range = slope * first.0 - first.1;
        if on_ramp.len() > 1 && slope > 0.0 && low_over_range > 0.0 {
            let range = 1.0 / low_over_range;
            candidates.push((1.0 + range, (slope * range).round()));
            candidates.push((1.0 + range, slope * range));
        }
    }
    match candidates.into_iter().find(|&(high, original)| matches(high, original)) {
        Some((high, original)) => Ok(json!({
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": 1.0,
            "high_freq_factor": high,
            "original_max_position_embeddings": original,
        })),
        None => bail!(
            "unsupported-rope",
            "{path}: the frequencies in rope_freqs.weight are not a llama3 scaling. Use the model's safetensors folder."
        ),
    }
}
