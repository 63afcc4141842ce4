//! The value head of PPO: v = w·h + b on the final normed hidden state h `[H]` of the position that predicts a token.
//!
//! It is no part of the model's weights: weight files and adapters are written without it, and it has its own learning rate,
//! gradient norm and step count. Only the optimizer state holds it.

use super::param::{Linear, Param, Pass};
use super::Model;
use crate::bail;
use crate::device::Device;
use crate::error::Result;

/// Where the gradients of values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Into the head and the weights below it.
    Shared,
    /// Into the head alone.
    Detached,
}

pub struct ValueHead<D: Device> {
    /// `[1, H]` with a bias.
    pub linear: Linear<D>,
    /// Optimizer steps taken.
    pub steps: u64,
}

const PLAIN: Pass = Pass { lora: false, dropout_seed: None, decode: false };
const NAME: &str = "value_head";

impl<D: Device> ValueHead<D> {
    pub(super) fn new(dev: &D, hidden: usize) -> Self {
        let param = |part: &str, shape: Vec<usize>, inn: usize| {
            let data = dev.matrix_dense(vec![0.0; inn], 1, inn);
            let mut p = Param { name: format!("{NAME}.{part}"), shape, data, state: None };
            p.train(dev);
            p
        };
        let (w, bias) = (param("weight", vec![1, hidden], hidden), param("bias", vec![1], 1));
        Self { linear: Linear { w, bias: Some(bias), lora: None, out: 1, inn: hidden }, steps: 0 }
    }

    pub fn params(&self) -> impl Iterator<Item = &Param<D>> {
        self.linear.params()
    }
    pub fn params_mut(&mut self) -> impl Iterator<Item = &mut Param<D>> {
        self.linear.params_mut()
    }

    /// The values of normed rows `[rows, H]`.
    pub(super) fn values(&self, dev: &D, normed: &D::Buf, rows: usize) -> Vec<f32> {
        let mut v = dev.alloc(rows);
        self.linear.forward(dev, normed, rows, &mut v, false, PLAIN);
        let mut host = vec![0.0; rows];
        dev.download(&v, &mut host);
        host
    }

    /// The head's gradients, and dn `[rows, H]` += that of the normed rows when given.
    pub(super) fn backward(&mut self, dev: &D, dvalues: &[f32], normed: &D::Buf, dn: Option<&mut D::Buf>) {
        let (rows, dv) = (dvalues.len(), dev.upload(dvalues));
        let Linear { w, bias, inn, .. } = &mut self.linear;
        if let Some(dn) = dn {
            dev.linear_dx(&dv, rows, &w.data, dn, true);
        }
        if let Some(g) = w.grad() {
            dev.linear_dw(&dv, normed, rows, 1, *inn, g);
        }
        if let Some(g) = bias.as_mut().and_then(Param::grad) {
            dev.bias_grad(&dv, rows, 1, g);
        }
    }
}

impl<D: Device> Model<D> {
    /// Add a head of zeros: every value is 0 until it has learned.
    ///
    /// # Errors
    /// `value-head-exists`.
    pub fn attach_value_head(&mut self) -> Result<()> {
        if self.value_head.is_some() {
            bail!("value-head-exists", "this model already has a value head");
        }
        self.kept = None;
        self.value_head = Some(ValueHead::new(&*self.dev, self.config.hidden_size));
        Ok(())
    }
}
