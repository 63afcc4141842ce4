//! One AdamW step over all trained parameters, with global-norm clipping and a refusal to step on non-finite gradients.

use super::Model;
use crate::bail;
use crate::device::{AdamW, Device};
use crate::error::Result;

#[derive(Debug, Clone, Copy)]
pub struct OptimOptions {
    pub lr: f32,
    pub beta1: f32,
    pub beta2: f32,
    pub eps: f32,
    pub weight_decay: f32,
    /// 0 is off.
    pub max_grad_norm: f32,
    /// Decay norms and biases too.
    pub decay_all: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct OptimResult {
    /// Global L2 norm before clipping.
    pub grad_norm: f64,
    pub share_weights_changed: f64,
    /// Above 0: the step was skipped.
    pub non_finite: u64,
}

impl<D: Device> Model<D> {
    /// Clip, step, and clear the gradients.
    ///
    /// # Errors
    /// `nothing-to-train`; `bad-config` for a non-finite or negative rate.
    pub fn optim_step(&mut self, o: OptimOptions) -> Result<OptimResult> {
        if !(o.lr.is_finite() && o.lr >= 0.0) {
            bail!("bad-config", "the learning rate must be a number of at least 0, not {}", o.lr);
        }
        let (mut squared, mut bad, mut total) = (0f64, 0u64, 0usize);
        self.for_each_param(|dev, p| {
            let len = p.len();
            if let Some(g) = p.grad() {
                let (s, b) = dev.norm_squared(g, len);
                squared += s;
                bad += b;
                total += len;
            }
        });
        if total == 0 {
            bail!(
                "nothing-to-train",
                "no weight of this model is trainable: open it for full training or attach an adapter first"
            );
        }
        let norm = squared.sqrt();
        if bad > 0 || !norm.is_finite() {
            self.zero_grad();
            return Ok(OptimResult { grad_norm: norm, share_weights_changed: 0.0, non_finite: bad.max(1) });
        }
        let clip = if o.max_grad_norm > 0.0 { (o.max_grad_norm as f64 / (norm + 1e-6)).min(1.0) } else { 1.0 };
        self.steps += 1;
        let step = self.steps;
        let mut changed = 0u64;
        self.for_each_param(|dev, p| {
            let len = p.len();
            let decay = o.decay_all || p.shape.len() > 1;
            let Some(state) = &mut p.state else { return };
            let (m, v) = state.moments.get_or_insert_with(|| (dev.zeros(len), dev.zeros(len)));
            let a = AdamW {
                lr: o.lr,
                beta1: o.beta1,
                beta2: o.beta2,
                eps: o.eps,
                weight_decay: if decay { o.weight_decay } else { 0.0 },
                step,
                grad_scale: clip as f32,
            };
            if let Some(w) = dev.matrix_buf_mut(&mut p.data) {
                changed += dev.adamw(w, &state.grad, m, v, len, a);
            }
            dev.fill(&mut state.grad, 0.0);
        });
        Ok(OptimResult { grad_norm: norm, share_weights_changed: changed as f64 / total as f64, non_finite: 0 })
    }

    pub fn zero_grad(&mut self) {
        self.for_each_param(|dev, p| {
            if let Some(g) = p.grad() {
                dev.fill(g, 0.0);
            }
        });
    }
}
