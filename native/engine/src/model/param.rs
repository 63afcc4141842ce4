//! A named weight with, when it is trained, its gradient and optimizer moments; and a linear layer with an optional adapter.

use crate::device::Device;

pub struct TrainState<D: Device> {
    pub grad: D::Buf,
    /// AdamW's first and second moments, made at the first step.
    pub moments: Option<(D::Buf, D::Buf)>,
}

pub struct Param<D: Device> {
    /// The checkpoint's name, or the PEFT name for adapter weights.
    pub name: String,
    pub shape: Vec<usize>,
    pub data: D::Matrix,
    pub state: Option<TrainState<D>>,
}

impl<D: Device> Param<D> {
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn trained(&self) -> bool {
        self.state.is_some()
    }
    pub fn train(&mut self, dev: &D) {
        self.state = Some(TrainState { grad: dev.zeros(self.len()), moments: None });
    }
    pub fn freeze(&mut self) {
        self.state = None;
    }
    pub fn grad(&mut self) -> Option<&mut D::Buf> {
        self.state.as_mut().map(|s| &mut s.grad)
    }
    /// Values of a norm weight or bias, which are always dense.
    pub fn vector<'a>(&'a self, dev: &D) -> &'a D::Buf {
        dev.matrix_buf(&self.data).expect("norms and biases are loaded dense")
    }
}

/// LoRA (Hu et al. 2021): y += scale · (dropout(x)·Aᵀ)·Bᵀ with A `[r, in]`, B `[out, r]`, scale = alpha / r.
pub struct Lora<D: Device> {
    pub a: Param<D>,
    pub b: Param<D>,
    pub r: usize,
    pub scale: f32,
    pub dropout: f32,
    /// Tells this layer's dropout mask from the others'.
    pub id: u64,
}

pub struct Linear<D: Device> {
    pub w: Param<D>,
    pub bias: Option<Param<D>>,
    pub lora: Option<Lora<D>>,
    pub out: usize,
    pub inn: usize,
}

/// What is the same for all layers of one pass.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    pub lora: bool,
    /// Dropout is on when a seed is given.
    pub dropout_seed: Option<u64>,
    /// Few rows, on stored weights (sampling).
    pub decode: bool,
}

impl<D: Device> Lora<D> {
    /// scale · dropout(x) · Aᵀ, and dropout(x) where it differs from x.
    fn down(&self, dev: &D, x: &D::Buf, rows: usize, inn: usize, pass: Pass) -> (D::Buf, Option<D::Buf>) {
        let dropped = pass.dropout_seed.filter(|_| self.dropout > 0.0).map(|seed| {
            let mut d = dev.alloc(rows * inn);
            dev.dropout(x, rows * inn, self.dropout, seed ^ self.id, &mut d);
            d
        });
        let mut t = dev.alloc(rows * self.r);
        let input = dropped.as_ref().unwrap_or(x);
        if pass.decode {
            dev.linear_decode(input, rows, &self.a.data, &mut t, false);
        } else {
            dev.linear(input, rows, &self.a.data, &mut t, false);
        }
        dev.scale(self.scale, &mut t, rows * self.r);
        (t, dropped)
    }
}

impl<D: Device> Linear<D> {
    /// y (+)= layer(x), x `[rows, in]`, y `[rows, out]`.
    pub fn forward(&self, dev: &D, x: &D::Buf, rows: usize, y: &mut D::Buf, acc: bool, pass: Pass) {
        if pass.decode {
            dev.linear_decode(x, rows, &self.w.data, y, acc);
        } else {
            dev.linear(x, rows, &self.w.data, y, acc);
        }
        if let Some(b) = &self.bias {
            dev.add_bias(y, rows, b.vector(dev), self.out);
        }
        if let (Some(l), true) = (&self.lora, pass.lora) {
            let (t, _) = l.down(dev, x, rows, self.inn, pass);
            if pass.decode {
                dev.linear_decode(&t, rows, &l.b.data, y, true);
            } else {
                dev.linear(&t, rows, &l.b.data, y, true);
            }
        }
    }

    /// dx (+)= gradient with respect to x; parameter gradients add up in the trained ones.
    pub fn backward(&mut self, dev: &D, dy: &D::Buf, x: &D::Buf, rows: usize, dx: &mut D::Buf, acc: bool, pass: Pass) {
        let (out, inn) = (self.out, self.inn);
        if let Some(g) = self.w.grad() {
            dev.linear_dw(dy, x, rows, out, inn, g);
        }
        dev.linear_dx(dy, rows, &self.w.data, dx, acc);
        if let Some(g) = self.bias.as_mut().and_then(|b| b.grad()) {
            dev.bias_grad(dy, rows, out, g);
        }
        if let (Some(l), true) = (&mut self.lora, pass.lora) {
            let (t, dropped) = l.down(dev, x, rows, inn, pass);
            let r = l.r;
            if let Some(g) = l.b.grad() {
                dev.linear_dw(dy, &t, rows, out, r, g);
            }
            let mut dt = t;
            dev.linear_dx(dy, rows, &l.b.data, &mut dt, false);
            dev.scale(l.scale, &mut dt, rows * r);
            if let Some(g) = l.a.grad() {
                dev.linear_dw(&dt, dropped.as_ref().unwrap_or(x), rows, r, inn, g);
            }
            match (dropped, pass.dropout_seed) {
                (Some(mut d), Some(seed)) => {
                    let mut up = dev.alloc(rows * inn);
                    dev.linear_dx(&dt, rows, &l.a.data, &mut up, false);
                    dev.dropout(&up, rows * inn, l.dropout, seed ^ l.id, &mut d);
                    dev.axpy(1.0, &d, rows * inn, dx);
                }
                _ => dev.linear_dx(&dt, rows, &l.a.data, dx, true),
            }
        }
    }

    pub fn params(&self) -> impl Iterator<Item = &Param<D>> {
        let lora = self.lora.iter().flat_map(|l| [&l.a, &l.b]);
        [Some(&self.w), self.bias.as_ref()].into_iter().flatten().chain(lora)
    }
    pub fn params_mut(&mut self) -> impl Iterator<Item = &mut Param<D>> {
        let lora = self.lora.iter_mut().flat_map(|l| [&mut l.a, &mut l.b]);
        [Some(&mut self.w), self.bias.as_mut()].into_iter().flatten().chain(lora)
    }
}
