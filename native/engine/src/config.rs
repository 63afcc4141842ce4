//! What a model is, read from `config.json` (both styles) or GGUF metadata. See `config_read.rs` for the reading.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    Llama,
    Qwen2,
    Qwen3,
    Gemma3,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    Silu,
    GeluTanh,
}

/// `rope_type: llama3` frequency scaling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Llama3Scaling {
    pub factor: f32,
    pub low_freq_factor: f32,
    pub high_freq_factor: f32,
    pub original_max_position: f32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rope {
    pub theta: f64,
    pub llama3: Option<Llama3Scaling>,
    /// `rope_type: linear`: positions are divided by this (1 = off).
    pub linear_factor: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    pub architecture: Architecture,
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub rms_norm_eps: f32,
    pub rope: Rope,
    /// RoPE of sliding-window layers (Gemma 3); others use `rope`.
    pub rope_local: Option<Rope>,
    pub tied_embeddings: bool,
    /// q, k, v projections have biases (Qwen2; Llama with `attention_bias`).
    pub qkv_bias: bool,
    /// o projection has a bias (Llama with `attention_bias`).
    pub o_bias: bool,
    /// RMSNorm on every head of q and k (Qwen3, Gemma 3).
    pub qk_norm: bool,
    /// Per layer: the attention window in tokens, `None` = global.
    pub window: Vec<Option<usize>>,
    /// Attention scores are multiplied by this: head_dim^-0.5, or query_pre_attn_scalar^-0.5.
    pub attention_scale: f32,
    /// Embeddings are multiplied by this: 1, or sqrt(hidden_size) for Gemma.
    pub embedding_scale: f32,
    /// Norm weights are stored as w and applied as 1 + w (Gemma).
    pub norm_plus_one: bool,
    /// Gemma's norms after attention and after the MLP.
    pub post_norms: bool,
    pub activation: Activation,
    pub context_length: usize,
    pub eos_token_ids: Vec<i32>,
    pub bos_token_id: Option<i32>,
}
