//! One AdamW step over all trained parameters, with global-norm clipping and a refusal to step on non-finite gradients. The
//! value head has its own rate, norm and step count.

use super::{Model, Param};
use crate::bail;
use crate::device::{AdamW, Device};
use crate::error::Result;

#[derive(Debug, Clone, Copy)]
pub struct OptimOptions {
    /// None: the model's (or adapter's) weights, moments and step count stay as they are.
    pub lr: Option<f32>,
    /// None: the value head's do.
    pub value_lr: Option<f32>,
    pub beta1: f32,
    pub beta2: f32,
    pub eps: f32,
    pub weight_decay: f32,
    /// 0 is off. The value head is clipped by its own norm.
    pub max_grad_norm: f32,
    /// Decay norms and biases too.
    pub decay_all: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct OptimResult {
    /// Global L2 norm before clipping, the value head's gradients left out.
    pub grad_norm: f64,
    /// The value head's, when there is one.
    pub value_grad_norm: Option<f64>,
    /// Of the trained elements, the value head's left out.
    pub share_weights_changed: f64,
    /// Above 0: the step was skipped.
    pub non_finite: u64,
}

/// Of the gradients of several parameters.
#[derive(Default)]
struct Norm {
    squared: f64,
    bad: u64,
    elements: usize,
}

impl Norm {
    fn add<D: Device>(&mut self, dev: &D, p: &mut Param<D>) {
        let len = p.len();
        if let Some(g) = p.grad() {
            let (squared, bad) = dev.norm_squared(g, len);
            self.squared += squared;
            self.bad += bad;
            self.elements += len;
        }
    }
    fn value(&self) -> f64 {
        self.squared.sqrt()
    }
    fn non_finite(&self) -> u64 {
        if self.value().is_finite() {
            self.bad
        } else {
            self.bad.max(1)
        }
    }
}

impl OptimOptions {
    fn adamw(&self, lr: f32, step: u64, norm: f64) -> AdamW {
        let most = f64::from(self.max_grad_norm);
        AdamW {
            lr,
            beta1: self.beta1,
            beta2: self.beta2,
            eps: self.eps,
            weight_decay: self.weight_decay,
            step,
            grad_scale: if most > 0.0 { (most / (norm + 1e-6)).min(1.0) as f32 } else { 1.0 },
        }
    }
}

impl<D: Device> Param<D> {
    /// Returns how many elements changed.
    fn step(&mut self, dev: &D, mut o: AdamW, decay_all: bool) -> u64 {
        let len = self.len();
        if !decay_all && self.shape.len() < 2 {
            o.weight_decay = 0.0;
        }
        let Some(state) = &mut self.state else { return 0 };
        let (m, v) = state.moments.get_or_insert_with(|| (dev.zeros(len), dev.zeros(len)));
        dev.matrix_buf_mut(&mut self.data).map_or(0, |w| dev.adamw(w, &state.grad, m, v, len, o))
    }
}

impl<D: Device> Model<D> {
    /// Clip, step, and clear the gradients.
    ///
    /// # Errors
    /// `nothing-to-train`, `no-value-head`; `bad-config` for a non-finite or negative rate, or none at all.
    pub fn optim_step(&mut self, o: OptimOptions) -> Result<OptimResult> {
        for lr in [o.lr, o.value_lr].into_iter().flatten() {
            if !(lr.is_finite() && lr >= 0.0) {
                bail!("bad-config", "the learning rate must be a number of at least 0, not {lr}");
            }
        }
        if self.value_head.is_none() && (o.lr.is_none() || o.value_lr.is_some()) {
            bail!("no-value-head", "this model has no value head to step: attach one first");
        }
        if o.lr.is_none() && o.value_lr.is_none() {
            bail!("bad-config", "a step needs a learning rate, for the model, for its value head, or for both");
        }
        let dev = self.dev.clone();
        let (mut policy, mut values) = (Norm::default(), Norm::default());
        self.for_each_param(|dev, p| policy.add(dev, p));
        self.value_head.iter_mut().flat_map(|v| v.params_mut()).for_each(|p| values.add(&*dev, p));
        if o.lr.is_some() && policy.elements == 0 {
            bail!(
                "nothing-to-train",
                "no weight of this model is trainable: open it for full training or attach an adapter first"
            );
        }
        let mut result = OptimResult {
            grad_norm: policy.value(),
            value_grad_norm: self.value_head.as_ref().map(|_| values.value()),
            share_weights_changed: 0.0,
            non_finite: policy.non_finite() + values.non_finite(),
        };
        if result.non_finite == 0 {
            if let Some(lr) = o.lr {
                self.steps += 1;
                let a = o.adamw(lr, self.steps, policy.value());
                let mut changed = 0;
                self.for_each_param(|dev, p| changed += p.step(dev, a, o.decay_all));
                result.share_weights_changed = changed as f64 / policy.elements as f64;
            }
            if let (Some(head), Some(lr)) = (&mut self.value_head, o.value_lr) {
                head.steps += 1;
                let a = o.adamw(lr, head.steps, values.value());
                head.params_mut().for_each(|p| _ = p.step(&*dev, a, o.decay_all));
            }
        }
        self.zero_grad();
        Ok(result)
    }

    pub fn zero_grad(&mut self) {
        let zero = |dev: &D, p: &mut Param<D>| {
            let Some(g) = p.grad() else { return };
            dev.fill(g, 0.0);
        };
        self.for_each_param(zero);
        let dev = self.dev.clone();
        self.value_head.iter_mut().flat_map(|v| v.params_mut()).for_each(|p| zero(&dev, p));
    }
}
