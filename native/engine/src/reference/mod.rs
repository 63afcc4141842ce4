//! The ops once more, as plain loops in f64 that follow the definitions: what every other device is compared with, and the
//! place to read what an op means. Far too slow for real work.
//!
//! Buffers that `alloc` hands out are full of NaN, so that reading what was never written shows.

mod attention;

use crate::config::Activation;
use crate::device::{AdamW, AttentionShape, Device, PageTable};
use crate::error::Result;
use crate::formats::TensorView;
use crate::layout::Layout;

pub use attention::RefKv;

pub struct Reference;

/// A weight `[out, in]`, decoded.
pub struct RefMatrix {
    out: usize,
    inn: usize,
    encoded: bool,
    data: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn wide(data: &[f32]) -> Vec<f64> {
    data.iter().map(|&x| f64::from(x)).collect()
}

/// to = from, or to += from.
fn put(to: &mut f64, from: f64, acc: bool) {
    *to = if acc { *to + from } else { from };
}

/// (act(x), act'(x))
fn activation(act: Activation, x: f64) -> (f64, f64) {
    match act {
        Activation::Silu => {
            let s = 1.0 / (1.0 + (-x).exp());
            (x * s, s + x * s * (1.0 - s))
        }
        Activation::GeluTanh => {
            let c = (2.0 / std::f64::consts::PI).sqrt();
            let t = (c * (x + 0.044715 * x.powi(3))).tanh();
            let dt = (1.0 - t * t) * c * (1.0 + 3.0 * 0.044715 * x * x);
            (0.5 * x * (1.0 + t), 0.5 * (1.0 + t) + 0.5 * x * dt)
        }
    }
}

/// softmax(x) and log Σ e^x.
fn softmax(x: &[f64]) -> (Vec<f64>, f64) {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lse = max + x.iter().map(|x| (x - max).exp()).sum::<f64>().ln();
    (x.iter().map(|x| (x - lse).exp()).collect(), lse)
}

impl Device for Reference {
    type Buf = Vec<f64>;
    type Matrix = RefMatrix;
    type Kv = RefKv;

    fn alloc(&self, len: usize) -> Vec<f64> {
        vec![f64::NAN; len]
    }
    fn zeros(&self, len: usize) -> Vec<f64> {
        vec![0.0; len]
    }
    fn upload(&self, data: &[f32]) -> Vec<f64> {
        wide(data)
    }
    fn download(&self, buf: &Vec<f64>, out: &mut [f32]) {
        out.iter_mut().zip(buf).for_each(|(o, &x)| *o = x as f32);
    }
    fn copy(&self, from: &Vec<f64>, to: &mut Vec<f64>, len: usize) {
        to[..len].copy_from_slice(&from[..len]);
    }
    fn fill(&self, buf: &mut Vec<f64>, value: f32) {
        buf.fill(f64::from(value));
    }
    /// Not counted here.
    fn memory(&self) -> (usize, usize) {
        (0, 0)
    }
    fn reset_peak(&self) {}
    fn keep_panels(&self, _: bool) {}
    fn trim(&self) {}

    fn matrix_dense(&self, data: Vec<f32>, out: usize, inn: usize) -> RefMatrix {
        RefMatrix { out, inn, encoded: false, data: wide(&data[..out * inn]) }
    }
    fn matrix_encoded(&self, view: TensorView) -> RefMatrix {
        let data = wide(&view.to_f32().expect("the loader has checked this tensor"));
        let inn = view.shape.last().copied().unwrap_or(1);
        RefMatrix { out: data.len() / inn, inn, encoded: true, data }
    }
    fn matrix_buf<'a>(&self, m: &'a RefMatrix) -> Option<&'a Vec<f64>> {
        (!m.encoded).then_some(&m.data)
    }
    fn matrix_buf_mut<'a>(&self, m: &'a mut RefMatrix) -> Option<&'a mut Vec<f64>> {
        (!m.encoded).then_some(&mut m.data)
    }
    fn matrix_download(&self, m: &RefMatrix) -> Result<Vec<f32>> {
        Ok(m.data.iter().map(|&x| x as f32).collect())
    }
    fn pin(&self, _: &RefMatrix, _: bool) {}

    fn linear(&self, x: &Vec<f64>, rows: usize, w: &RefMatrix, y: &mut Vec<f64>, acc: bool) {
        for r in 0..rows {
            for o in 0..w.out {
                let (x, w_row) = (&x[r * w.inn..][..w.inn], &w.data[o * w.inn..][..w.inn]);
                put(&mut y[r * w.out + o], dot(x, w_row), acc);
            }
        }
    }
    fn linear_decode(&self, x: &Vec<f64>, rows: usize, w: &RefMatrix, y: &mut Vec<f64>, acc: bool) {
        self.linear(x, rows, w, y, acc);
    }
    fn linear_dx(&self, dy: &Vec<f64>, rows: usize, w: &RefMatrix, dx: &mut Vec<f64>, acc: bool) {
        for r in 0..rows {
            for i in 0..w.inn {
                let sum = (0..w.out).map(|o| dy[r * w.out + o] * w.data[o * w.inn + i]).sum();
                put(&mut dx[r * w.inn + i], sum, acc);
            }
        }
    }
    fn linear_dw(&self, dy: &Vec<f64>, x: &Vec<f64>, rows: usize, out: usize, inn: usize, dw: &mut Vec<f64>) {
        for o in 0..out {
            for i in 0..inn {
                dw[o * inn + i] += (0..rows).map(|r| dy[r * out + o] * x[r * inn + i]).sum::<f64>();
            }
        }
    }
    fn add_bias(&self, y: &mut Vec<f64>, rows: usize, b: &Vec<f64>, n: usize) {
        for i in 0..rows * n {
            y[i] += b[i % n];
        }
    }
    fn bias_grad(&self, dy: &Vec<f64>, rows: usize, n: usize, db: &mut Vec<f64>) {
        for i in 0..rows * n {
            db[i % n] += dy[i];
        }
    }

    fn rms_norm(
        &self,
        x: &Vec<f64>,
        rows: usize,
        d: usize,
        w: &Vec<f64>,
        eps: f32,
        plus_one: bool,
        y: &mut Vec<f64>,
        rstd: &mut Vec<f64>,
    ) {
        for r in 0..rows {
            let x = &x[r * d..][..d];
            rstd[r] = 1.0 / (dot(x, x) / d as f64 + f64::from(eps)).sqrt();
            for i in 0..d {
                let weight = if plus_one { 1.0 + w[i] } else { w[i] };
                y[r * d + i] = x[i] * rstd[r] * weight;
            }
        }
    }
    fn rms_norm_backward(
        &self,
        dy: &Vec<f64>,
        x: &Vec<f64>,
        rstd: &Vec<f64>,
        rows: usize,
        d: usize,
        w: &Vec<f64>,
        plus_one: bool,
        dx: &mut Vec<f64>,
        acc: bool,
        mut dw: Option<&mut Vec<f64>>,
    ) {
        for r in 0..rows {
            let normed: Vec<f64> = (0..d).map(|i| x[r * d + i] * rstd[r]).collect();
            let weight = |i: usize| if plus_one { 1.0 + w[i] } else { w[i] };
            let g: Vec<f64> = (0..d).map(|i| dy[r * d + i] * weight(i)).collect();
            let mean = dot(&g, &normed) / d as f64;
            for i in 0..d {
                put(&mut dx[r * d + i], rstd[r] * (g[i] - normed[i] * mean), acc);
                if let Some(dw) = dw.as_deref_mut() {
                    dw[i] += dy[r * d + i] * normed[i];
                }
            }
        }
    }

    fn rope(
        &self,
        x: &mut Vec<f64>,
        heads: usize,
        head_dim: usize,
        positions: &[u32],
        table: &Vec<f64>,
        inverse: bool,
    ) {
        let half = head_dim / 2;
        for (r, &position) in positions.iter().enumerate() {
            for h in 0..heads {
                for i in 0..half {
                    let cos = table[position as usize * head_dim + i];
                    let sin = table[position as usize * head_dim + half + i] * if inverse { -1.0 } else { 1.0 };
                    let at = (r * heads + h) * head_dim + i;
                    let (a, b) = (x[at], x[at + half]);
                    x[at] = a * cos - b * sin;
                    x[at + half] = b * cos + a * sin;
                }
            }
        }
    }

    fn attention(
        &self,
        q: &Vec<f64>,
        k: &Vec<f64>,
        v: &Vec<f64>,
        layout: &Layout,
        s: AttentionShape,
        out: &mut Vec<f64>,
        lse: &mut Vec<f64>,
    ) {
        attention::forward([q, k, v], layout, s, out, lse);
    }
    fn attention_backward(
        &self,
        dout: &Vec<f64>,
        _out: &Vec<f64>,
        _lse: &Vec<f64>,
        q: &Vec<f64>,
        k: &Vec<f64>,
        v: &Vec<f64>,
        layout: &Layout,
        s: AttentionShape,
        dq: &mut Vec<f64>,
        dk: &mut Vec<f64>,
        dv: &mut Vec<f64>,
    ) {
        attention::backward(dout, [q, k, v], layout, s, [dq, dk, dv]);
    }

    fn glu(&self, g: &Vec<f64>, u: &Vec<f64>, act: Activation, len: usize, h: &mut Vec<f64>) {
        for i in 0..len {
            h[i] = activation(act, g[i]).0 * u[i];
        }
    }
    fn glu_backward(
        &self,
        dh: &Vec<f64>,
        g: &mut Vec<f64>,
        u: &mut Vec<f64>,
        act: Activation,
        len: usize,
        h: &mut Vec<f64>,
    ) {
        for i in 0..len {
            let (a, da) = activation(act, g[i]);
            h[i] = a * u[i];
            g[i] = dh[i] * u[i] * da;
            u[i] = dh[i] * a;
        }
    }

    fn embed(&self, w: &RefMatrix, ids: &[i32], scale: f32, out: &mut Vec<f64>) {
        for (r, &id) in ids.iter().enumerate() {
            for i in 0..w.inn {
                out[r * w.inn + i] = f64::from(scale) * w.data[id as usize * w.inn + i];
            }
        }
    }
    fn embed_backward(&self, dx: &Vec<f64>, ids: &[i32], d: usize, scale: f32, dw: &mut Vec<f64>) {
        for (r, &id) in ids.iter().enumerate() {
            for i in 0..d {
                dw[id as usize * d + i] += f64::from(scale) * dx[r * d + i];
            }
        }
    }
    fn gather(&self, x: &Vec<f64>, rows: &[u32], d: usize, out: &mut Vec<f64>) {
        for (r, &from) in rows.iter().enumerate() {
            out[r * d..][..d].copy_from_slice(&x[from as usize * d..][..d]);
        }
    }
    fn scatter_add(&self, dout: &Vec<f64>, rows: &[u32], d: usize, dx: &mut Vec<f64>) {
        for (r, &to) in rows.iter().enumerate() {
            for i in 0..d {
                dx[to as usize * d + i] += dout[r * d + i];
            }
        }
    }

    fn axpy(&self, a: f32, x: &Vec<f64>, len: usize, y: &mut Vec<f64>) {
        for i in 0..len {
            y[i] += f64::from(a) * x[i];
        }
    }
    fn scale(&self, a: f32, x: &mut Vec<f64>, len: usize) {
        x[..len].iter_mut().for_each(|x| *x *= f64::from(a));
    }
    /// Element i stays when the upper half of SplitMix64's i-th output (Steele et al. 2014, counted from its seed) is at
    /// most (1 − p) · (2³² − 1).
    fn dropout(&self, x: &Vec<f64>, len: usize, p: f32, seed: u64, y: &mut Vec<f64>) {
        let keep = (1.0 - f64::from(p)) * f64::from(u32::MAX);
        for i in 0..len {
            let mut z = seed.wrapping_add((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            let stays = f64::from((z >> 32) as u32) <= keep;
            y[i] = if stays { x[i] / (1.0 - f64::from(p)) } else { 0.0 };
        }
    }

    fn logprob(
        &self,
        logits: &Vec<f64>,
        rows: usize,
        vocab: usize,
        targets: &[i32],
        temperature: f32,
        lp: &mut Vec<f64>,
        entropy: &mut Vec<f64>,
        correct: &mut Vec<f64>,
        lse: &mut Vec<f64>,
    ) {
        for r in 0..rows {
            let x: Vec<f64> = logits[r * vocab..][..vocab].iter().map(|z| z / f64::from(temperature)).collect();
            let (p, l) = softmax(&x);
            lse[r] = l;
            let target = x[targets[r] as usize];
            lp[r] = target - l;
            correct[r] = if x.iter().all(|&x| x <= target) { 1.0 } else { 0.0 };
            // −Σ p · log p
            entropy[r] = p.iter().zip(&x).map(|(p, x)| p * (l - x)).sum();
        }
    }
    fn logprob_backward(
        &self,
        logits: &mut Vec<f64>,
        rows: usize,
        vocab: usize,
        targets: &[i32],
        temperature: f32,
        _lse: &Vec<f64>,
        _entropy: &Vec<f64>,
        dlp: &[f32],
        dentropy: Option<&[f32]>,
    ) {
        for r in 0..rows {
            let z = &mut logits[r * vocab..][..vocab];
            let x: Vec<f64> = z.iter().map(|z| z / f64::from(temperature)).collect();
            let (p, l) = softmax(&x);
            let entropy: f64 = p.iter().zip(&x).map(|(p, x)| p * (l - x)).sum();
            for j in 0..vocab {
                let hit = if j == targets[r] as usize { 1.0 } else { 0.0 };
                let through_lp = f64::from(dlp[r]) * (hit - p[j]);
                let through_entropy = -f64::from(dentropy.map_or(0.0, |d| d[r])) * p[j] * (x[j] - l + entropy);
                z[j] = (through_lp + through_entropy) / f64::from(temperature);
            }
        }
    }

    fn norm_squared(&self, x: &Vec<f64>, len: usize) -> (f64, u64) {
        (dot(&x[..len], &x[..len]), x[..len].iter().filter(|x| !x.is_finite()).count() as u64)
    }
    fn adamw(&self, w: &mut Vec<f64>, g: &Vec<f64>, m: &mut Vec<f64>, v: &mut Vec<f64>, len: usize, o: AdamW) -> u64 {
        let [lr, beta1, beta2, eps, decay] = [o.lr, o.beta1, o.beta2, o.eps, o.weight_decay].map(f64::from);
        let mut changed = 0;
        for i in 0..len {
            let g = g[i] * f64::from(o.grad_scale);
            m[i] = beta1 * m[i] + (1.0 - beta1) * g;
            v[i] = beta2 * v[i] + (1.0 - beta2) * g * g;
            let (m_hat, v_hat) = (m[i] / (1.0 - beta1.powf(o.step as f64)), v[i] / (1.0 - beta2.powf(o.step as f64)));
            let new = w[i] * (1.0 - lr * decay) - lr * m_hat / (v_hat.sqrt() + eps);
            changed += u64::from(new != w[i]);
            w[i] = new;
        }
        changed
    }

    fn map_rows<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        (0..n).map(f).collect()
    }

    fn kv_new(&self, layers: usize, kv_heads: usize, head_dim: usize) -> RefKv {
        RefKv::new(layers, kv_heads * head_dim)
    }
    fn kv_write(&self, kv: &mut RefKv, layer: usize, k: &Vec<f64>, v: &Vec<f64>, at: &[(u32, u32)]) {
        kv.write(layer, k, v, at);
    }
    fn kv_page_bytes(&self, kv: &RefKv) -> usize {
        kv.page_bytes()
    }
    fn kv_clear(&self, kv: &mut RefKv) {
        kv.clear();
    }
    fn attention_decode(
        &self,
        kv: &RefKv,
        layer: usize,
        q: &Vec<f64>,
        tables: &[&PageTable],
        s: AttentionShape,
        out: &mut Vec<f64>,
    ) {
        attention::decode(kv, layer, q, tables, s, out);
    }
}
