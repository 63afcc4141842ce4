//! What a training step or a sampling run will take, computed before it is taken.

use super::batch::{chunk_rows, KEEP};
use super::Model;
use crate::bail;
use crate::device::{Device, PAGE};
use crate::error::Result;

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

/// A training micro-batch of `tokens` tokens with `targets` of them scored, and/or sampling `sequences` of `length` tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryPlan {
    pub tokens: usize,
    pub targets: usize,
    pub sequences: usize,
    pub length: usize,
}

impl<D: Device> Model<D> {
    /// Panels kept between calls for dense weights: one copy for forward, one for backward of small models.
    fn panel_bytes(&self, training: bool) -> u64 {
        let matrices = |dense: bool| {
            self.params()
                .filter(move |p| p.shape.len() == 2 && self.dev.matrix_buf(&p.data).is_some() == dense)
                .map(|p| p.len() as u64 * 4)
        };
        if self.keeps_panels() {
            matrices(true).sum::<u64>() * if training { 2 } else { 1 }
        } else if training {
            // Made for one product at a time: the largest weight, twice while forward and backward forms coexist.
            matrices(true).chain(matrices(false)).max().unwrap_or(0)
        } else {
            0
        }
    }

    /// Whether the device keeps weights in panel form for this model: worth it up to 64 MiB of weights.
    pub fn keeps_panels(&self) -> bool {
        self.parameters() * 4 <= 64 << 20
    }

    pub fn estimate_memory(&self, plan: MemoryPlan) -> MemoryEstimate {
        self.estimate(plan, self.recompute)
    }

    fn estimate(&self, plan: MemoryPlan, recompute: bool) -> MemoryEstimate {
        let c = &self.config;
        let (h, f, v) = (c.hidden_size, c.intermediate_size, c.vocab_size);
        let (qd, kd) = (c.heads * c.head_dim, c.kv_heads * c.head_dim);
        let trained = self.trainable_parameters() as u64 * 4;
        let dense: u64 =
            self.params().filter(|p| self.dev.matrix_buf(&p.data).is_some()).map(|p| p.len() as u64 * 4).sum();
        let encoded = self.weight_bytes.saturating_sub(if self.trainable == super::Trainable::Full {
            self.weight_bytes
        } else {
            0
        });
        let mut e = MemoryEstimate { weights: dense + encoded, ..Default::default() };
        let head = self.value_head.as_ref().map_or(0, |v| v.params().map(|p| p.len() as u64 * 4).sum());
        e.weights += head;
        let trained = trained + head;
        if plan.tokens > 0 {
            e.weights += self.panel_bytes(true);
            e.gradients = trained;
            e.optimizer = 2 * trained;
            let norms = if c.qk_norm { qd + kd } else { 0 } + if c.post_norms { 2 * h } else { 0 };
            let saved = 2 * h + 2 * qd + 2 * kd + c.heads + 2 * f + norms;
            let kept = if recompute { c.layers * h + saved } else { c.layers * saved };
            let working = 6 * h + 3 * qd + 4 * kd + 3 * f;
            let rows = plan.targets.min(chunk_rows(v));
            let logits = if plan.targets * v <= KEEP { plan.targets * v } else { rows * v };
            // Transposed copies of activations for weight gradients, and selected rows.
            let head = plan.targets * 4 * h + logits.max(rows * v);
            e.activations = ((plan.tokens * (kept + working) + head) * 4) as u64;
        }
        if plan.sequences > 0 {
            if plan.tokens == 0 {
                e.weights += self.panel_bytes(false);
            }
            let page = c.layers * 2 * kd * PAGE * 4;
            e.kv_cache = (plan.sequences * plan.length.div_ceil(PAGE) * page) as u64;
            e.activations = e.activations.max((plan.sequences * (v + 8 * h + 4 * f) * 4) as u64);
        }
        e
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
