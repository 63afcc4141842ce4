//! Errors, and the plain objects of the interface.

use hone_engine::config::{Architecture, ModelConfig};
use hone_engine::error::EngineError;
use hone_engine::model::{LoraConfig, MemoryEstimate, MemoryPlan, OptimOptions, Scores};
use hone_engine::request::{Sample, SampleRequest};
use napi_derive::napi;

/// The code and the message travel as two lines of one text; `core/engine` takes them apart again.
pub fn error(e: EngineError) -> napi::Error {
    napi::Error::from_reason(format!("{}\n{}", e.code, e.message))
}

#[napi(object)]
pub struct NativeOpenOptions {
    /// Every weight trainable, in fp32.
    pub full: bool,
    pub threads: u32,
    /// Bytes that this model may take in all, weights and KV cache included.
    pub memory_limit: f64,
}

#[napi(object)]
pub struct NativeModelInfo {
    pub architecture: String,
    pub parameters: f64,
    pub trainable_parameters: f64,
    pub vocab_size: u32,
    pub hidden_size: u32,
    pub layers: u32,
    pub context_length: u32,
    pub weight_bytes: f64,
    pub dtype: String,
    pub tied_embeddings: bool,
    pub kv_bytes_per_token: u32,
    #[napi(ts_type = "'full' | 'lora' | 'none'")]
    pub trainable: String,
    pub value_head: bool,
    pub eos_token_ids: Vec<i32>,
    pub optimizer_steps: f64,
    /// Bytes of engine buffers alive now, and the most since the model was opened.
    pub memory_live: f64,
    pub memory_peak: f64,
}

#[napi(object)]
pub struct NativeSampleRequest {
    pub prompt: napi::bindgen_prelude::Int32Array,
    pub n: Option<u32>,
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub top_k: Option<u32>,
    pub top_p: Option<f64>,
    pub min_p: Option<f64>,
    pub seed: f64,
    pub stop_ids: Option<Vec<i32>>,
    pub stop_sequences: Option<Vec<Vec<i32>>>,
    pub allowed: Option<Vec<Vec<i32>>>,
    pub top_logprobs: Option<u32>,
}

impl From<NativeSampleRequest> for SampleRequest {
    fn from(r: NativeSampleRequest) -> Self {
        SampleRequest {
            prompt: r.prompt.to_vec(),
            n: r.n.unwrap_or(1) as usize,
            max_tokens: r.max_tokens as usize,
            temperature: r.temperature.unwrap_or(1.0) as f32,
            top_k: r.top_k.unwrap_or(0) as usize,
            top_p: r.top_p.unwrap_or(1.0) as f32,
            min_p: r.min_p.unwrap_or(0.0) as f32,
            seed: r.seed.to_bits(),
            stop_ids: r.stop_ids.unwrap_or_default(),
            stop_sequences: r.stop_sequences.unwrap_or_default(),
            allowed: r.allowed.unwrap_or_default(),
            top_logprobs: r.top_logprobs.unwrap_or(0) as usize,
        }
    }
}

/// Samples one after another in flat arrays.
#[napi(object)]
pub struct NativeSamples {
    pub requests: Vec<u32>,
    pub indices: Vec<u32>,
    /// Tokens of each sample.
    pub lengths: Vec<u32>,
    pub stop_reasons: Vec<String>,
    pub tokens: napi::bindgen_prelude::Int32Array,
    pub logprobs: napi::bindgen_prelude::Float32Array,
    /// Per token k ids and k log-probs, in the order of `tokens`; empty when not asked for.
    pub top_counts: Vec<u32>,
    pub top_ids: napi::bindgen_prelude::Int32Array,
    pub top_logprobs: napi::bindgen_prelude::Float32Array,
}

/// What happens while a call of `sample` runs: one of the two.
#[napi(object)]
pub struct NativeSampleEvent {
    pub token: Option<NativeToken>,
    /// One sample that has ended.
    pub sample: Option<NativeSamples>,
}

#[napi(object)]
pub struct NativeToken {
    pub request: u32,
    pub index: u32,
    pub token: i32,
    pub logprob: f64,
}

impl From<&[Sample]> for NativeSamples {
    fn from(samples: &[Sample]) -> Self {
        let flat = |f: fn(&Sample) -> u32| samples.iter().map(f).collect::<Vec<_>>();
        let top = || samples.iter().flat_map(|s| &s.top_logprobs);
        NativeSamples {
            requests: flat(|s| s.request as u32),
            indices: flat(|s| s.index as u32),
            lengths: flat(|s| s.tokens.len() as u32),
            stop_reasons: samples.iter().map(|s| s.stop.name().to_string()).collect(),
            tokens: samples.iter().flat_map(|s| s.tokens.iter().copied()).collect::<Vec<_>>().into(),
            logprobs: samples.iter().flat_map(|s| s.logprobs.iter().copied()).collect::<Vec<_>>().into(),
            top_counts: top().map(|t| t.len() as u32).collect(),
            top_ids: top().flatten().map(|t| t.0).collect::<Vec<_>>().into(),
            top_logprobs: top().flatten().map(|t| t.1).collect::<Vec<_>>().into(),
        }
    }
}

#[napi(object)]
pub struct NativeBatch {
    pub tokens: napi::bindgen_prelude::Int32Array,
    /// Length and parent (−1: none) of every segment, in pairs.
    pub segments: napi::bindgen_prelude::Int32Array,
    pub mask: Option<napi::bindgen_prelude::Uint8Array>,
    pub grad: bool,
    pub temperature: f64,
    #[napi(ts_type = "'shared' | 'detached'")]
    pub values: Option<String>,
}

#[napi(object)]
pub struct NativeScores {
    pub logprobs: napi::bindgen_prelude::Float32Array,
    pub entropy: napi::bindgen_prelude::Float32Array,
    pub correct: napi::bindgen_prelude::Uint8Array,
    pub values: Option<napi::bindgen_prelude::Float32Array>,
    /// One per segment.
    pub end_values: Option<napi::bindgen_prelude::Float32Array>,
}

impl From<Scores> for NativeScores {
    fn from(s: Scores) -> Self {
        let (values, end_values) = s.values.map(|v| (v.tokens.into(), v.ends.into())).unzip();
        let correct = s.correct.into();
        NativeScores { logprobs: s.logprobs.into(), entropy: s.entropy.into(), correct, values, end_values }
    }
}

#[napi(object)]
pub struct NativeLora {
    pub r: u32,
    pub lora_alpha: f64,
    pub lora_dropout: f64,
    pub target_modules: Vec<String>,
    pub seed: f64,
}

impl From<NativeLora> for LoraConfig {
    fn from(l: NativeLora) -> Self {
        LoraConfig {
            r: l.r as usize,
            alpha: l.lora_alpha as f32,
            dropout: l.lora_dropout as f32,
            target_modules: l.target_modules,
            seed: l.seed as u64,
        }
    }
}

#[napi(object)]
pub struct NativeOptim {
    /// Absent: only the value head steps.
    pub lr: Option<f64>,
    /// The value head's; absent: it stays as it is.
    pub value_lr: Option<f64>,
    pub beta1: f64,
    pub beta2: f64,
    pub eps: f64,
    pub weight_decay: f64,
    pub max_grad_norm: f64,
    pub decay_all: bool,
}

impl From<NativeOptim> for OptimOptions {
    fn from(o: NativeOptim) -> Self {
        OptimOptions {
            lr: o.lr.map(|lr| lr as f32),
            value_lr: o.value_lr.map(|lr| lr as f32),
            beta1: o.beta1 as f32,
            beta2: o.beta2 as f32,
            eps: o.eps as f32,
            weight_decay: o.weight_decay as f32,
            max_grad_norm: o.max_grad_norm as f32,
            decay_all: o.decay_all,
        }
    }
}

#[napi(object)]
pub struct NativeOptimResult {
    pub grad_norm: f64,
    pub value_grad_norm: Option<f64>,
    pub share_weights_changed: f64,
    pub non_finite: f64,
}

#[napi(object)]
pub struct NativeMemoryPlan {
    pub tokens: u32,
    pub targets: u32,
    pub sequences: u32,
    pub length: u32,
    pub prefill: u32,
}

#[napi(object)]
pub struct NativeMemory {
    pub weights: f64,
    pub gradients: f64,
    pub optimizer: f64,
    pub activations: f64,
    pub kv_cache: f64,
    pub total: f64,
}

#[napi(object)]
pub struct NativePlanOptions {
    /// Of the weights as stored.
    pub weight_bytes: f64,
    #[napi(ts_type = "'full' | 'lora' | 'none'")]
    pub trainable: String,
    pub lora_r: u32,
    /// Layers are made again in backward.
    pub recompute: bool,
    pub plan: NativeMemoryPlan,
}

#[napi(object)]
pub struct NativePlan {
    pub architecture: String,
    pub parameters: f64,
    pub layers: u32,
    pub context_length: u32,
    pub kv_bytes_per_token: u32,
    pub memory: NativeMemory,
}

impl From<NativeMemoryPlan> for MemoryPlan {
    fn from(p: NativeMemoryPlan) -> Self {
        MemoryPlan {
            tokens: p.tokens as usize,
            targets: p.targets as usize,
            sequences: p.sequences as usize,
            length: p.length as usize,
            prefill: p.prefill as usize,
        }
    }
}

/// Hugging Face's `model_type`.
pub fn model_type(architecture: Architecture) -> String {
    match architecture {
        Architecture::Llama => "llama",
        Architecture::Qwen2 => "qwen2",
        Architecture::Qwen3 => "qwen3",
        Architecture::Gemma3 => "gemma3_text",
    }
    .to_string()
}

/// Keys and values of one token in fp32, in bytes.
pub fn kv_bytes_per_token(c: &ModelConfig) -> u32 {
    (c.layers * c.kv_heads * c.head_dim * 8) as u32
}

impl From<MemoryEstimate> for NativeMemory {
    fn from(m: MemoryEstimate) -> Self {
        NativeMemory {
            weights: m.weights as f64,
            gradients: m.gradients as f64,
            optimizer: m.optimizer as f64,
            activations: m.activations as f64,
            kv_cache: m.kv_cache as f64,
            total: m.total() as f64,
        }
    }
}
