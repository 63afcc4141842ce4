//! From a checkpoint to weights on a device; attaching and merging adapters.

use super::block::{Block, Ropes};
use super::param::{Linear, Lora, Param};
use super::Model;
use crate::bail;
use crate::config::ModelConfig;
use crate::device::{AttentionShape, Device};
use crate::error::Result;
use crate::formats::{check_finite, Checkpoint, Dtype};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trainable {
    None,
    Full,
    Lora,
}

/// PEFT's names. `target_modules` are last parts of module names, e.g. `q_proj`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoraConfig {
    pub r: usize,
    pub alpha: f32,
    pub dropout: f32,
    pub target_modules: Vec<String>,
    pub seed: u64,
}

pub const ALL_LINEAR: [&str; 7] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

struct Loader<'a, D: Device> {
    dev: &'a D,
    file: &'a Checkpoint,
    full: bool,
    done: u64,
    progress: &'a mut dyn FnMut(u64, u64),
}

impl<D: Device> Loader<'_, D> {
    fn param(&mut self, name: &str, dense: bool) -> Result<Param<D>> {
        let view = self.file.tensor(name)?;
        check_finite(&view)?;
        let shape = view.shape.clone();
        let inn = shape.last().copied().unwrap_or(1);
        let out = shape.iter().product::<usize>() / inn.max(1);
        self.done += view.bytes.len() as u64;
        let data = if dense || self.full {
            let data = self.dev.matrix_dense(view.to_f32()?, out, inn);
            view.bytes.release();
            data
        } else {
            self.dev.matrix_encoded(view)
        };
        (self.progress)(self.done, self.file.weight_bytes);
        let mut p = Param { name: name.to_string(), shape, data, state: None };
        if self.full {
            p.train(self.dev);
        }
        Ok(p)
    }

    fn linear(&mut self, module: &str, out: usize, inn: usize, bias: bool) -> Result<Linear<D>> {
        let w = self.param(&format!("{module}.weight"), false)?;
        let bias = if bias { Some(self.param(&format!("{module}.bias"), true)?) } else { None };
        Ok(Linear { w, bias, lora: None, out, inn })
    }

    fn block(&mut self, c: &ModelConfig, i: usize) -> Result<Block<D>> {
        let at = format!("model.layers.{i}");
        let (h, f) = (c.hidden_size, c.intermediate_size);
        let (q, kv) = (c.heads * c.head_dim, c.kv_heads * c.head_dim);
        let mlp_norm = if c.post_norms { "pre_feedforward_layernorm" } else { "post_attention_layernorm" };
        Ok(Block {
            input_norm: self.param(&format!("{at}.input_layernorm.weight"), true)?,
            q: self.linear(&format!("{at}.self_attn.q_proj"), q, h, c.qkv_bias)?,
            k: self.linear(&format!("{at}.self_attn.k_proj"), kv, h, c.qkv_bias)?,
            v: self.linear(&format!("{at}.self_attn.v_proj"), kv, h, c.qkv_bias)?,
            o: self.linear(&format!("{at}.self_attn.o_proj"), h, q, c.o_bias)?,
            q_norm: if c.qk_norm { Some(self.param(&format!("{at}.self_attn.q_norm.weight"), true)?) } else { None },
            k_norm: if c.qk_norm { Some(self.param(&format!("{at}.self_attn.k_norm.weight"), true)?) } else { None },
            post_attention_norm: if c.post_norms {
                Some(self.param(&format!("{at}.post_attention_layernorm.weight"), true)?)
            } else {
                None
            },
            mlp_norm: self.param(&format!("{at}.{mlp_norm}.weight"), true)?,
            gate: self.linear(&format!("{at}.mlp.gate_proj"), f, h, false)?,
            up: self.linear(&format!("{at}.mlp.up_proj"), f, h, false)?,
            down: self.linear(&format!("{at}.mlp.down_proj"), h, f, false)?,
            post_mlp_norm: if c.post_norms {
                Some(self.param(&format!("{at}.post_feedforward_layernorm.weight"), true)?)
            } else {
                None
            },
            shape: AttentionShape {
                heads: c.heads,
                kv_heads: c.kv_heads,
                head_dim: c.head_dim,
                scale: c.attention_scale,
                window: c.window[i],
            },
            local_rope: c.rope_local.is_some() && c.window[i].is_some(),
        })
    }
}

impl<D: Device> Model<D> {
    /// Load every weight of an opened checkpoint. `full` makes all of them dense fp32 and trainable; otherwise matrices stay
    /// as the file stores them. `progress` gets (bytes done, bytes in all).
    pub fn load(dev: Arc<D>, file: &Checkpoint, full: bool, progress: &mut dyn FnMut(u64, u64)) -> Result<Self> {
        let c = file.config.clone();
        let mut l = Loader { dev: &*dev, file, full, done: 0, progress };
        let embed = l.param("model.embed_tokens.weight", false)?;
        let blocks = (0..c.layers).map(|i| l.block(&c, i)).collect::<Result<Vec<_>>>()?;
        let norm = l.param("model.norm.weight", true)?;
        let head = if c.tied_embeddings { None } else { Some(l.param("lm_head.weight", false)?) };
        let dtype =
            if full { Dtype::F32.name() } else { file.tensor("model.layers.0.mlp.up_proj.weight")?.dtype.name() };
        let ropes = Ropes { global: dev.alloc(0), local: None };
        let mut model = Self {
            config_json: file.config_json.clone(),
            path: file.path.clone(),
            weight_bytes: file.weight_bytes,
            dtype,
            dev,
            config: c,
            embed,
            blocks,
            norm,
            head,
            ropes,
            rope_positions: 0,
            trainable: if full { Trainable::Full } else { Trainable::None },
            adapter: None,
            lora_on: true,
            value_head: None,
            kept: None,
            steps: 0,
            passes: 0,
            recompute: false,
            memory_limit: u64::MAX,
        };
        model.dev.keep_panels(model.keeps_panels());
        model.reach(1);
        Ok(model)
    }

    /// Add an untrained adapter: A uniform in ±1/√in (Kaiming with a = √5, as PEFT), B zero, so the output does not change yet.
    /// Only adapter weights train from here on.
    ///
    /// # Errors
    /// `adapter-exists`; `bad-config` for rank 0 or an unknown module name.
    pub fn attach_lora(&mut self, config: LoraConfig) -> Result<()> {
        if self.adapter.is_some() {
            bail!("adapter-exists", "this model already has an adapter: merge it or open the model again");
        }
        if config.r == 0 {
            bail!("bad-config", "LoRA rank r must be at least 1");
        }
        if !(0.0..1.0).contains(&config.dropout) {
            bail!("bad-config", "lora_dropout must be at least 0 and below 1, not {}", config.dropout);
        }
        if let Some(m) = config.target_modules.iter().find(|m| !ALL_LINEAR.contains(&m.as_str())) {
            bail!("bad-config", "unknown target module {m}; this model has {}", ALL_LINEAR.join(", "));
        }
        self.kept = None;
        self.for_each_param(|_, p| p.freeze());
        let dev = self.dev.clone();
        let mut id = 0u64;
        for (i, b) in self.blocks.iter_mut().enumerate() {
            for (name, l) in b.linears_mut() {
                id += 1;
                let short = name.rsplit('.').next().unwrap_or(name);
                if !config.target_modules.iter().any(|m| m == short) {
                    continue;
                }
                let bound = 1.0 / (l.inn as f32).sqrt();
                let mut rng = Rng::new(config.seed, id);
                let a: Vec<f32> = (0..config.r * l.inn).map(|_| (rng.uniform() * 2.0 - 1.0) * bound).collect();
                let at = format!("base_model.model.model.layers.{i}.{name}");
                let param = |part: &str, data: Vec<f32>, out: usize, inn: usize| {
                    let mut p = Param {
                        name: format!("{at}.lora_{part}.weight"),
                        shape: vec![out, inn],
                        data: dev.matrix_dense(data, out, inn),
                        state: None,
                    };
                    p.train(&*dev);
                    p
                };
                l.lora = Some(Lora {
                    a: param("A", a, config.r, l.inn),
                    b: param("B", vec![0.0; l.out * config.r], l.out, config.r),
                    r: config.r,
                    scale: config.alpha / config.r as f32,
                    dropout: config.dropout,
                    id,
                });
            }
        }
        self.adapter = Some(config);
        self.trainable = Trainable::Lora;
        self.lora_on = true;
        self.steps = 0;
        Ok(())
    }

    /// W ← W + scale·B·A in dense fp32; the adapter is gone afterwards.
    ///
    /// # Errors
    /// `no-adapter`.
    pub fn merge_lora(&mut self) -> Result<()> {
        if self.adapter.take().is_none() {
            bail!("no-adapter", "there is no adapter to merge");
        }
        self.kept = None;
        let dev = self.dev.clone();
        for b in &mut self.blocks {
            for (_, l) in b.linears_mut() {
                let Some(lora) = l.lora.take() else { continue };
                let mut w = dev.matrix_download(&l.w.data)?;
                let (a, b) = (dev.matrix_download(&lora.a.data)?, dev.matrix_download(&lora.b.data)?);
                for o in 0..l.out {
                    let row = &mut w[o * l.inn..(o + 1) * l.inn];
                    for k in 0..lora.r {
                        let s = lora.scale * b[o * lora.r + k];
                        row.iter_mut().zip(&a[k * l.inn..]).for_each(|(w, a)| *w += s * a);
                    }
                }
                l.w.data = dev.matrix_dense(w, l.out, l.inn);
            }
        }
        self.trainable = Trainable::None;
        self.dtype = Dtype::F32.name();
        Ok(())
    }
}

/// SplitMix64.
pub(super) struct Rng(u64);
impl Rng {
    /// `stream` tells generators of one seed apart.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(stream.wrapping_mul(0xD1B5_4A32_D192_ED03)))
    }
    /// In [0, 1).
    pub fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32
    }
    /// Mean 0, variance 1 (Box-Muller).
    pub fn normal(&mut self) -> f32 {
        let r = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        r * (2.0 * std::f32::consts::PI * self.uniform()).cos()
    }
}
