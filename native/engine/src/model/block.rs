//! One transformer block, forward and backward side by side. Llama, Qwen2, Qwen3 and Gemma 3 differ by what is switched on:
//! biases, per-head norms of q and k, norms after attention and MLP, the activation, the window.

use super::param::{Linear, Param, Pass};
use crate::config::ModelConfig;
use crate::device::{AttentionShape, Device, PageTable};
use crate::layout::Layout;

pub struct Block<D: Device> {
    pub input_norm: Param<D>,
    pub q: Linear<D>,
    pub k: Linear<D>,
    pub v: Linear<D>,
    pub o: Linear<D>,
    pub q_norm: Option<Param<D>>,
    pub k_norm: Option<Param<D>>,
    /// Gemma's norm of the attention output, before it joins the residual.
    pub post_attention_norm: Option<Param<D>>,
    pub mlp_norm: Param<D>,
    pub gate: Linear<D>,
    pub up: Linear<D>,
    pub down: Linear<D>,
    pub post_mlp_norm: Option<Param<D>>,
    pub shape: AttentionShape,
    /// Which RoPE table this layer uses.
    pub local_rope: bool,
}

/// Where keys and values come from and go to.
pub enum Attend<'a, D: Device> {
    /// A packed batch on its own.
    Packed(&'a Layout),
    /// A packed batch whose keys and values are also kept: row i in slot `.1` of page `.0`.
    Prefill(&'a Layout, &'a mut D::Kv, &'a [(u32, u32)]),
    /// One new row per sequence against its pages.
    Decode(&'a mut D::Kv, &'a [&'a PageTable], &'a [(u32, u32)]),
}

/// What backward needs of one block. Norm outputs and the gated product are made again instead.
pub struct Saved<D: Device> {
    x: D::Buf,
    q_raw: Option<D::Buf>,
    k_raw: Option<D::Buf>,
    q: D::Buf,
    k: D::Buf,
    v: D::Buf,
    att: D::Buf,
    lse: D::Buf,
    o_raw: Option<D::Buf>,
    mid: D::Buf,
    gate: D::Buf,
    up: D::Buf,
    down_raw: Option<D::Buf>,
}

pub struct Ropes<D: Device> {
    pub global: D::Buf,
    pub local: Option<D::Buf>,
}

impl<D: Device> Ropes<D> {
    fn of(&self, local: bool) -> &D::Buf {
        self.local.as_ref().filter(|_| local).unwrap_or(&self.global)
    }
}

impl<D: Device> Block<D> {
    /// x `[T, H]` → the residual stream after this block; `save` keeps what `backward` needs.
    pub fn forward(
        &self,
        dev: &D,
        c: &ModelConfig,
        x: D::Buf,
        positions: &[u32],
        ropes: &Ropes<D>,
        attend: &mut Attend<D>,
        layer: usize,
        pass: Pass,
        save: bool,
    ) -> (D::Buf, Option<Saved<D>>) {
        let t = positions.len();
        let (h, hd) = (c.hidden_size, self.shape.head_dim);
        let (qd, kd, f) = (self.shape.heads * hd, self.shape.kv_heads * hd, c.intermediate_size);
        let norm = |x: &D::Buf, w: &Param<D>| self.norm(dev, c, x, t, h, w).0;

        let n = norm(&x, &self.input_norm);
        let (mut q, mut k, mut v) = (dev.alloc(t * qd), dev.alloc(t * kd), dev.alloc(t * kd));
        self.q.forward(dev, &n, t, &mut q, false, pass);
        self.k.forward(dev, &n, t, &mut k, false, pass);
        self.v.forward(dev, &n, t, &mut v, false, pass);
        drop(n);
        let (mut q_raw, mut k_raw) = (None, None);
        if let (Some(qn), Some(kn)) = (&self.q_norm, &self.k_norm) {
            let (qq, _) = self.norm(dev, c, &q, t * self.shape.heads, hd, qn);
            let (kk, _) = self.norm(dev, c, &k, t * self.shape.kv_heads, hd, kn);
            (q_raw, k_raw) = (Some(std::mem::replace(&mut q, qq)), Some(std::mem::replace(&mut k, kk)));
        }
        let rope = ropes.of(self.local_rope);
        dev.rope(&mut q, self.shape.heads, hd, positions, rope, false);
        dev.rope(&mut k, self.shape.kv_heads, hd, positions, rope, false);

        let mut att = dev.alloc(t * qd);
        let mut lse = dev.alloc(t * self.shape.heads);
        match attend {
            Attend::Packed(layout) => dev.attention(&q, &k, &v, layout, self.shape, &mut att, &mut lse),
            Attend::Prefill(layout, kv, at) => {
                dev.kv_write(kv, layer, &k, &v, at);
                dev.attention(&q, &k, &v, layout, self.shape, &mut att, &mut lse);
            }
            Attend::Decode(kv, tables, at) => {
                dev.kv_write(kv, layer, &k, &v, at);
                dev.attention_decode(kv, layer, &q, tables, self.shape, &mut att);
            }
        }

        let mut mid = dev.alloc(t * h);
        dev.copy(&x, &mut mid, t * h);
        let mut o_raw = None;
        if let Some(w) = &self.post_attention_norm {
            let mut raw = dev.alloc(t * h);
            self.o.forward(dev, &att, t, &mut raw, false, pass);
            dev.axpy(1.0, &norm(&raw, w), t * h, &mut mid);
            o_raw = Some(raw);
        } else {
            self.o.forward(dev, &att, t, &mut mid, true, pass);
        }

        let n = norm(&mid, &self.mlp_norm);
        let (mut gate, mut up, mut act) = (dev.alloc(t * f), dev.alloc(t * f), dev.alloc(t * f));
        self.gate.forward(dev, &n, t, &mut gate, false, pass);
        self.up.forward(dev, &n, t, &mut up, false, pass);
        drop(n);
        dev.glu(&gate, &up, c.activation, t * f, &mut act);
        let mut out = dev.alloc(t * h);
        dev.copy(&mid, &mut out, t * h);
        let mut down_raw = None;
        if let Some(w) = &self.post_mlp_norm {
            let mut raw = dev.alloc(t * h);
            self.down.forward(dev, &act, t, &mut raw, false, pass);
            dev.axpy(1.0, &norm(&raw, w), t * h, &mut out);
            down_raw = Some(raw);
        } else {
            self.down.forward(dev, &act, t, &mut out, true, pass);
        }
        let saved = save.then_some(Saved { x, q_raw, k_raw, q, k, v, att, lse, o_raw, mid, gate, up, down_raw });
        (out, saved)
    }

    /// dx `[T, H]`: in, the gradient of the block's output; out, of its input.
    pub fn backward(
        &mut self,
        dev: &D,
        c: &ModelConfig,
        mut s: Saved<D>,
        dx: &mut D::Buf,
        positions: &[u32],
        ropes: &Ropes<D>,
        layout: &Layout,
        pass: Pass,
    ) {
        let t = positions.len();
        let (h, hd) = (c.hidden_size, self.shape.head_dim);
        let (qd, kd, f) = (self.shape.heads * hd, self.shape.kv_heads * hd, c.intermediate_size);
        let plus = c.norm_plus_one;

        // MLP: out = mid + post_norm(down(act(gate(n))·up(n))), n = norm(mid)
        let (n, n_rstd) = self.norm(dev, c, &s.mid, t, h, &self.mlp_norm);
        let mut dn = dev.alloc(t * h);
        {
            let dd = match (&mut self.post_mlp_norm, &s.down_raw) {
                (Some(w), Some(raw)) => Some(norm_backward(dev, c, dx, raw, t, h, w)),
                _ => None,
            };
            let dd = dd.as_ref().unwrap_or(dx);
            let mut dact = dev.alloc(t * f);
            let mut act = dev.alloc(t * f);
            if self.down.lora.is_some() && pass.lora {
                // The adapter's share of dact needs the activation first.
                dev.glu(&s.gate, &s.up, c.activation, t * f, &mut act);
                self.down.backward(dev, dd, &act, t, &mut dact, false, pass);
                dev.glu_backward(&dact, &mut s.gate, &mut s.up, c.activation, t * f, &mut act);
            } else {
                dev.linear_dx(dd, t, &self.down.w.data, &mut dact, false);
                dev.glu_backward(&dact, &mut s.gate, &mut s.up, c.activation, t * f, &mut act);
                if let Some(g) = self.down.w.grad() {
                    dev.linear_dw(dd, &act, t, h, f, g);
                }
            }
        }
        self.gate.backward(dev, &s.gate, &n, t, &mut dn, false, pass);
        self.up.backward(dev, &s.up, &n, t, &mut dn, true, pass);
        drop(n);
        add_norm_backward(dev, &dn, &s.mid, &n_rstd, t, h, &mut self.mlp_norm, plus, dx);

        // Attention: mid = x + post_norm(o(att)), att = attention(rope(q(n)), rope(k(n)), v(n)), n = norm(x)
        let (n, n_rstd) = self.norm(dev, c, &s.x, t, h, &self.input_norm);
        let mut datt = dev.alloc(t * qd);
        {
            let d_o = match (&mut self.post_attention_norm, &s.o_raw) {
                (Some(w), Some(raw)) => Some(norm_backward(dev, c, dx, raw, t, h, w)),
                _ => None,
            };
            self.o.backward(dev, d_o.as_ref().unwrap_or(dx), &s.att, t, &mut datt, false, pass);
        }
        let (mut dq, mut dk, mut dv) = (dev.alloc(t * qd), dev.alloc(t * kd), dev.alloc(t * kd));
        dev.attention_backward(&datt, &s.att, &s.lse, &s.q, &s.k, &s.v, layout, self.shape, &mut dq, &mut dk, &mut dv);
        let rope = ropes.of(self.local_rope);
        dev.rope(&mut dq, self.shape.heads, hd, positions, rope, true);
        dev.rope(&mut dk, self.shape.kv_heads, hd, positions, rope, true);
        if let (Some(w), Some(raw)) = (&mut self.q_norm, &s.q_raw) {
            dq = norm_backward(dev, c, &dq, raw, t * self.shape.heads, hd, w);
        }
        if let (Some(w), Some(raw)) = (&mut self.k_norm, &s.k_raw) {
            dk = norm_backward(dev, c, &dk, raw, t * self.shape.kv_heads, hd, w);
        }
        self.q.backward(dev, &dq, &n, t, &mut dn, false, pass);
        self.k.backward(dev, &dk, &n, t, &mut dn, true, pass);
        self.v.backward(dev, &dv, &n, t, &mut dn, true, pass);
        add_norm_backward(dev, &dn, &s.x, &n_rstd, t, h, &mut self.input_norm, plus, dx);
    }

    fn norm(&self, dev: &D, c: &ModelConfig, x: &D::Buf, rows: usize, d: usize, w: &Param<D>) -> (D::Buf, D::Buf) {
        let (mut y, mut rstd) = (dev.alloc(rows * d), dev.alloc(rows));
        dev.rms_norm(x, rows, d, w.vector(dev), c.rms_norm_eps, c.norm_plus_one, &mut y, &mut rstd);
        (y, rstd)
    }

    pub fn linears(&self) -> [(&'static str, &Linear<D>); 7] {
        [
            ("self_attn.q_proj", &self.q),
            ("self_attn.k_proj", &self.k),
            ("self_attn.v_proj", &self.v),
            ("self_attn.o_proj", &self.o),
            ("mlp.gate_proj", &self.gate),
            ("mlp.up_proj", &self.up),
            ("mlp.down_proj", &self.down),
        ]
    }
    pub fn linears_mut(&mut self) -> [(&'static str, &mut Linear<D>); 7] {
        [
            ("self_attn.q_proj", &mut self.q),
            ("self_attn.k_proj", &mut self.k),
            ("self_attn.v_proj", &mut self.v),
            ("self_attn.o_proj", &mut self.o),
            ("mlp.gate_proj", &mut self.gate),
            ("mlp.up_proj", &mut self.up),
            ("mlp.down_proj", &mut self.down),
        ]
    }
    pub fn norms(&self) -> impl Iterator<Item = &Param<D>> {
        [
            Some(&self.input_norm),
            self.q_norm.as_ref(),
            self.k_norm.as_ref(),
            self.post_attention_norm.as_ref(),
            Some(&self.mlp_norm),
            self.post_mlp_norm.as_ref(),
        ]
        .into_iter()
        .flatten()
    }
    pub fn norms_mut(&mut self) -> impl Iterator<Item = &mut Param<D>> {
        [
            Some(&mut self.input_norm),
            self.q_norm.as_mut(),
            self.k_norm.as_mut(),
            self.post_attention_norm.as_mut(),
            Some(&mut self.mlp_norm),
            self.post_mlp_norm.as_mut(),
        ]
        .into_iter()
        .flatten()
    }
}

/// Gradient through `norm(raw)`, with the norm's statistics made again.
fn norm_backward<D: Device>(
    dev: &D,
    c: &ModelConfig,
    dy: &D::Buf,
    raw: &D::Buf,
    rows: usize,
    d: usize,
    w: &mut Param<D>,
) -> D::Buf {
    let (mut y, mut rstd) = (dev.alloc(rows * d), dev.alloc(rows));
    dev.rms_norm(raw, rows, d, w.vector(dev), c.rms_norm_eps, c.norm_plus_one, &mut y, &mut rstd);
    let dx = &mut y;
    let grad = w.state.as_mut().map(|s| &mut s.grad);
    let weight = dev.matrix_buf(&w.data).expect("norms are loaded dense");
    dev.rms_norm_backward(dy, raw, &rstd, rows, d, weight, c.norm_plus_one, dx, false, grad);
    y
}

/// dx += gradient through `norm(x)`.
pub fn add_norm_backward<D: Device>(
    dev: &D,
    dy: &D::Buf,
    x: &D::Buf,
    rstd: &D::Buf,
    rows: usize,
    d: usize,
    w: &mut Param<D>,
    plus_one: bool,
    dx: &mut D::Buf,
) {
    let grad = w.state.as_mut().map(|s| &mut s.grad);
    let weight = dev.matrix_buf(&w.data).expect("norms are loaded dense");
    dev.rms_norm_backward(dy, x, rstd, rows, d, weight, plus_one, dx, true, grad);
}
