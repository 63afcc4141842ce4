//! What a training step or a sampling run will take, computed before it is taken.

use super::batch::{chunk_rows, KEEP};
use super::load::ALL_LINEAR;
use super::{Model, Trainable};
use crate::bail;
use crate::config::ModelConfig;
use crate::device::{Device, PAGE};
use crate::error::Result;
use crate::formats::expected_tensors;

/// Bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MemoryEstimate {
    pub weights: u64,
    pub gradients: u64,
    pub optimizer: u64,
    pub activations: u64,
    pub kv_cache: u64,
}

impl MemoryEstimate {
    pub fn total(&self) -> u64 {
        self.weights + self.gradients + self.optimizer + self.activations + self.kv_cache
    }
}

/// A training micro-batch of `tokens` tokens with `targets` of them scored, and/or sampling `sequences` of `length` tokens,
/// of whose prompts `prefill` tokens go through the model in one pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryPlan {
    pub tokens: usize,
    pub targets: usize,
    pub sequences: usize,
    pub length: usize,
    pub prefill: usize,
}

/// Weights in fp32 up to which the device keeps them in panel form, too.
const MAX_PANELS: u64 = 64 << 20;

/// How the weights of a model are held, opened or not: with the configuration, all that an estimate goes by. Bytes.
struct Held {
    /// Size of every matrix in fp32, and whether it is held so rather than encoded.
    matrices: Vec<(u64, bool)>,
    /// In fp32: vectors, dense matrices, adapters.
    dense: u64,
    /// As the file stores them.
    encoded: u64,
    value_head: u64,
    /// What an optimizer step changes, in fp32, without the value head.
    trained: u64,
    /// Of all weights without adapters, in fp32.
    weights: u64,
}

impl Held {
    fn of_model<D: Device>(m: &Model<D>) -> Self {
        let is_dense = |p: &super::param::Param<D>| m.dev.matrix_buf(&p.data).is_some();
        Self {
            matrices: m.params().filter(|p| p.shape.len() == 2).map(|p| (p.len() as u64 * 4, is_dense(p))).collect(),
            dense: m.params().filter(|p| is_dense(p)).map(|p| p.len() as u64 * 4).sum(),
            encoded: if m.trainable == Trainable::Full { 0 } else { m.weight_bytes },
            value_head: m.value_head.as_ref().map_or(0, |v| v.params().map(|p| p.len() as u64 * 4).sum()),
            trained: m.trainable_parameters() as u64 * 4,
            weights: m.parameters() as u64 * 4,
        }
    }

    /// As `load` and `attach_lora` would leave a model of this configuration. `lora_r` counts for LoRA alone.
    fn of_config(c: &ModelConfig, weight_bytes: u64, trainable: Trainable, lora_r: usize) -> Self {
        let full = trainable == Trainable::Full;
        let mut held = Self { matrices: vec![], dense: 0, encoded: 0, value_head: 0, trained: 0, weights: 0 };
        for (name, shape) in expected_tensors(c) {
            let bytes = shape.iter().product::<usize>() as u64 * 4;
            let is_matrix = shape.len() == 2;
            held.weights += bytes;
            if is_matrix {
                held.matrices.push((bytes, full));
            }
            if full || !is_matrix {
                held.dense += bytes;
            }
            if trainable == Trainable::Lora && ALL_LINEAR.iter().any(|l| name.ends_with(&format!("{l}.weight"))) {
                for size in shape {
                    let bytes = (size * lora_r) as u64 * 4;
                    held.matrices.push((bytes, true));
                    held.dense += bytes;
                    held.trained += bytes;
                }
            }
        }
        if full {
            held.trained = held.weights;
        } else {
            held.encoded = weight_bytes;
        }
        held
    }

    /// Panels kept between calls for dense weights: one copy for forward, one for backward of small models.
    fn panel_bytes(&self, training: bool) -> u64 {
        if self.weights <= MAX_PANELS {
            let dense = self.matrices.iter().filter(|(_, dense)| *dense).map(|(bytes, _)| bytes);
            dense.sum::<u64>() * if training { 2 } else { 1 }
        } else if training {
            // Made for one product at a time: the largest weight, twice while forward and backward forms coexist.
            self.matrices.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0)
        } else {
            0
        }
    }
}

/// What a model that is not opened would need: its configuration, the bytes of its weights as stored, and what of it is
/// to be trained. `recompute`: layers are made again in backward instead of being kept.
pub fn estimate_config(
    c: &ModelConfig,
    weight_bytes: u64,
    trainable: Trainable,
    lora_r: usize,
    plan: MemoryPlan,
    recompute: bool,
) -> MemoryEstimate {
    estimate(c, &Held::of_config(c, weight_bytes, trainable, lora_r), plan, recompute)
}

fn estimate(c: &ModelConfig, held: &Held, plan: MemoryPlan, recompute: bool) -> MemoryEstimate {
    let (h, f, v) = (c.hidden_size, c.intermediate_size, c.vocab_size);
    let (qd, kd) = (c.heads * c.head_dim, c.kv_heads * c.head_dim);
    let trained = held.trained + held.value_head;
    // Of one token in the layer that is being computed.
    let working = 6 * h + 3 * qd + 4 * kd + 3 * f;
    let mut e = MemoryEstimate { weights: held.dense + held.encoded + held.value_head, ..Default::default() };
    if plan.tokens > 0 {
        e.weights += held.panel_bytes(true);
        e.gradients = trained;
        e.optimizer = 2 * trained;
        let norms = if c.qk_norm { qd + kd } else { 0 } + if c.post_norms { 2 * h } else { 0 };
        let saved = 2 * h + 2 * qd + 2 * kd + c.heads + 2 * f + norms;
        let kept = if recompute { c.layers * h + saved } else { c.layers * saved };
        let rows = plan.targets.min(chunk_rows(v));
        let logits = if plan.targets * v <= KEEP { plan.targets * v } else { rows * v };
        // Transposed copies of activations for weight gradients, and selected rows.
        let head = plan.targets * 4 * h + logits.max(rows * v);
        e.activations = ((plan.tokens * (kept + working) + head) * 4) as u64;
    }
    if plan.sequences > 0 {
        if plan.tokens == 0 {
            e.weights += held.panel_bytes(false);
        }
        let page = c.layers * 2 * kd * PAGE * 4;
        e.kv_cache = (plan.sequences * plan.length.div_ceil(PAGE) * page) as u64;
        let sampling = (plan.prefill * working).max(plan.sequences * (v + 8 * h + 4 * f));
        e.activations = e.activations.max((sampling * 4) as u64);
    }
    e
}

impl<D: Device> Model<D> {
    /// Whether the device keeps weights in panel form for this model: worth it for small ones.
    pub fn keeps_panels(&self) -> bool {
        self.parameters() as u64 * 4 <= MAX_PANELS
    }

    pub fn estimate_memory(&self, plan: MemoryPlan) -> MemoryEstimate {
        self.estimate(plan, self.recompute)
    }

    fn estimate(&self, plan: MemoryPlan, recompute: bool) -> MemoryEstimate {
        estimate(&self.config, &Held::of_model(self), plan, recompute)
    }

    /// Whether a training pass must recompute its layers to stay within the memory limit.
    ///
    /// # Errors
    /// `out-of-memory` with the numbers, when even that does not fit.
    pub(super) fn plan_recompute(&self, plan: MemoryPlan) -> Result<bool> {
        if self.recompute {
            return Ok(true);
        }
        if self.estimate(plan, false).total() <= self.memory_limit {
            return Ok(false);
        }
        let need = self.estimate(plan, true).total();
        if need > self.memory_limit {
            bail!(
                "out-of-memory",
                "a training pass over {} tokens needs about {} MiB and {} MiB may be used: use smaller micro-batches, LoRA instead of full training, or allow more memory",
                plan.tokens,
                need >> 20,
                self.memory_limit >> 20
            );
        }
        Ok(true)
    }
}
