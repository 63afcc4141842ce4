//! The ops that a model is written over. A device owns its buffers; they are opaque, and nothing is read back to the host
//! except by the calls that say so. The CPU implements all of them (`cpu/`, one file per op with its backward beside it);
//! `reference.rs` implements them once more as plain loops in f64, which is what the tests compare against.
//!
//! Shapes: matrices are row-major `[rows, cols]`; T = rows of the packed batch, H = hidden size, V = vocabulary.

use crate::config::Activation;
use crate::error::Result;
use crate::formats::TensorView;
use crate::layout::Layout;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionShape {
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub scale: f32,
    /// A query sees itself and the window − 1 tokens before it.
    pub window: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
pub struct AdamW {
    pub lr: f32,
    pub beta1: f32,
    pub beta2: f32,
    pub eps: f32,
    pub weight_decay: f32,
    /// Step count from 1, for bias correction.
    pub step: u64,
    /// Gradients are multiplied by this first (clipping).
    pub grad_scale: f32,
}

/// Where a sequence keeps its keys and values while sampling: pages of `PAGE` tokens. Prefix pages may be shared by
/// several sequences; a sequence writes only its own.
pub const PAGE: usize = 16;

#[derive(Debug, Clone, Default)]
pub struct PageTable {
    pub prefix: Vec<u32>,
    pub prefix_len: usize,
    pub own: Vec<u32>,
    pub own_len: usize,
}

pub trait Device: Send + Sync + 'static {
    /// An array of f32.
    type Buf: Send + Sync;
    /// A weight `[out, in]`, dense f32 or as the file encodes it.
    type Matrix: Send + Sync;
    /// The KV pages of one model.
    type Kv: Send + Sync;

    /// Contents are unspecified.
    fn alloc(&self, len: usize) -> Self::Buf;
    fn zeros(&self, len: usize) -> Self::Buf;
    fn upload(&self, data: &[f32]) -> Self::Buf;
    /// Reads back.
    fn download(&self, buf: &Self::Buf, out: &mut [f32]);
    fn copy(&self, from: &Self::Buf, to: &mut Self::Buf, len: usize);
    fn fill(&self, buf: &mut Self::Buf, value: f32);
    /// Bytes of buffers that are alive, and the highest it has been since `reset_peak`.
    fn memory(&self) -> (usize, usize);
    fn reset_peak(&self);
    /// Whether weights may be kept in a faster form between calls, at the price of a second copy.
    fn keep_panels(&self, keep: bool);
    /// Let go of memory kept for reuse.
    fn trim(&self);

    fn matrix_dense(&self, data: Vec<f32>, out: usize, inn: usize) -> Self::Matrix;
    fn matrix_encoded(&self, view: TensorView) -> Self::Matrix;
    /// Dense values; None when encoded.
    fn matrix_buf<'a>(&self, m: &'a Self::Matrix) -> Option<&'a Self::Buf>;
    /// As above, for writing; whatever was derived from the old values is dropped.
    fn matrix_buf_mut<'a>(&self, m: &'a mut Self::Matrix) -> Option<&'a mut Self::Buf>;
    /// Reads back, decoded.
    fn matrix_download(&self, m: &Self::Matrix) -> Result<Vec<f32>>;

    /// Several products with this weight follow: what is derived from it may be kept until it is unpinned.
    fn pin(&self, m: &Self::Matrix, on: bool);
    /// y `[T, out]` (+)= x `[T, in]` · Wᵀ
    fn linear(&self, x: &Self::Buf, rows: usize, w: &Self::Matrix, y: &mut Self::Buf, acc: bool);
    /// The same for few rows while sampling, on the weights as they are stored. Every row's result is independent of the others.
    fn linear_decode(&self, x: &Self::Buf, rows: usize, w: &Self::Matrix, y: &mut Self::Buf, acc: bool);
    /// dx `[T, in]` (+)= dy `[T, out]` · W
    fn linear_dx(&self, dy: &Self::Buf, rows: usize, w: &Self::Matrix, dx: &mut Self::Buf, acc: bool);
    /// dW `[out, in]` += dyᵀ · x
    fn linear_dw(&self, dy: &Self::Buf, x: &Self::Buf, rows: usize, out: usize, inn: usize, dw: &mut Self::Buf);
    /// y `[T, n]` += b `[n]`
    fn add_bias(&self, y: &mut Self::Buf, rows: usize, b: &Self::Buf, n: usize);
    /// db += column sums of dy
    fn bias_grad(&self, dy: &Self::Buf, rows: usize, n: usize, db: &mut Self::Buf);

    /// y = x · rstd · (w or 1 + w), rstd = (mean x² + eps)^-½; writes rstd `[rows]`.
    fn rms_norm(
        &self,
        x: &Self::Buf,
        rows: usize,
        d: usize,
        w: &Self::Buf,
        eps: f32,
        plus_one: bool,
        y: &mut Self::Buf,
        rstd: &mut Self::Buf,
    );
    /// dx (+)= gradient of `rms_norm`; dw += its weight gradient when given.
    fn rms_norm_backward(
        &self,
        dy: &Self::Buf,
        x: &Self::Buf,
        rstd: &Self::Buf,
        rows: usize,
        d: usize,
        w: &Self::Buf,
        plus_one: bool,
        dx: &mut Self::Buf,
        acc: bool,
        dw: Option<&mut Self::Buf>,
    );

    /// Half-split rotary embedding of x `[T, heads·head_dim]` in place. `table` is `[positions, head_dim]`: cos (first half) and
    /// sin (second half). `inverse` rotates back, which is also the backward pass.
    fn rope(
        &self,
        x: &mut Self::Buf,
        heads: usize,
        head_dim: usize,
        positions: &[u32],
        table: &Self::Buf,
        inverse: bool,
    );

    /// Causal attention over a packed batch. q `[T, heads·hd]`, k and v `[T, kv_heads·hd]` → out `[T, heads·hd]`, lse `[T, heads]`.
    fn attention(
        &self,
        q: &Self::Buf,
        k: &Self::Buf,
        v: &Self::Buf,
        layout: &Layout,
        s: AttentionShape,
        out: &mut Self::Buf,
        lse: &mut Self::Buf,
    );
    /// Overwrites dq, dk, dv.
    fn attention_backward(
        &self,
        dout: &Self::Buf,
        out: &Self::Buf,
        lse: &Self::Buf,
        q: &Self::Buf,
        k: &Self::Buf,
        v: &Self::Buf,
        layout: &Layout,
        s: AttentionShape,
        dq: &mut Self::Buf,
        dk: &mut Self::Buf,
        dv: &mut Self::Buf,
    );

    /// h = act(g) · u
    fn glu(&self, g: &Self::Buf, u: &Self::Buf, act: Activation, len: usize, h: &mut Self::Buf);
    /// Writes h as `glu` does, and turns g into dg and u into du.
    fn glu_backward(
        &self,
        dh: &Self::Buf,
        g: &mut Self::Buf,
        u: &mut Self::Buf,
        act: Activation,
        len: usize,
        h: &mut Self::Buf,
    );

    /// out `[T, H]` = scale · W[ids]
    fn embed(&self, w: &Self::Matrix, ids: &[i32], scale: f32, out: &mut Self::Buf);
    /// dW[ids] += scale · dx
    fn embed_backward(&self, dx: &Self::Buf, ids: &[i32], d: usize, scale: f32, dw: &mut Self::Buf);
    /// out `[n, d]` = x[rows]
    fn gather(&self, x: &Self::Buf, rows: &[u32], d: usize, out: &mut Self::Buf);
    /// dx[rows] += dout
    fn scatter_add(&self, dout: &Self::Buf, rows: &[u32], d: usize, dx: &mut Self::Buf);

    /// y += a · x
    fn axpy(&self, a: f32, x: &Self::Buf, len: usize, y: &mut Self::Buf);
    fn scale(&self, a: f32, x: &mut Self::Buf, len: usize);
    /// y = x with each element zeroed with probability p, the others divided by 1 − p; the mask depends on seed and index only.
    fn dropout(&self, x: &Self::Buf, len: usize, p: f32, seed: u64, y: &mut Self::Buf);

    /// log p(target) and entropy of softmax(logits / temperature), rows `[n, V]` → `[n]` each; `correct` is 1 where no logit is
    /// above the target's, else 0; and the log-sum-exp for backward.
    fn logprob(
        &self,
        logits: &Self::Buf,
        rows: usize,
        vocab: usize,
        targets: &[i32],
        temperature: f32,
        lp: &mut Self::Buf,
        entropy: &mut Self::Buf,
        correct: &mut Self::Buf,
        lse: &mut Self::Buf,
    );
    /// Turns logits into dL/dlogits.
    fn logprob_backward(
        &self,
        logits: &mut Self::Buf,
        rows: usize,
        vocab: usize,
        targets: &[i32],
        temperature: f32,
        lse: &Self::Buf,
        entropy: &Self::Buf,
        dlp: &[f32],
        dentropy: Option<&[f32]>,
    );

    /// (Σ x² in f64, number of non-finite elements). Reads back.
    fn norm_squared(&self, x: &Self::Buf, len: usize) -> (f64, u64);
    /// One AdamW step in place; returns how many weights changed. Reads back.
    fn adamw(
        &self,
        w: &mut Self::Buf,
        g: &Self::Buf,
        m: &mut Self::Buf,
        v: &mut Self::Buf,
        len: usize,
        o: AdamW,
    ) -> u64;

    /// Host work on n independent rows, on the device's threads where it has some.
    fn map_rows<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T>;

    fn kv_new(&self, layers: usize, kv_heads: usize, head_dim: usize) -> Self::Kv;
    /// Write keys and values `[n, kv_heads·hd]` of one layer: row i goes to token `at[i].1` of page `at[i].0`.
    fn kv_write(&self, kv: &mut Self::Kv, layer: usize, k: &Self::Buf, v: &Self::Buf, at: &[(u32, u32)]);
    /// A page's memory; pages are numbered by the caller and made on first use.
    fn kv_page_bytes(&self, kv: &Self::Kv) -> usize;
    /// Free the memory of all pages.
    fn kv_clear(&self, kv: &mut Self::Kv);
    /// One query row per sequence against all its keys (its newest token's included). q, out `[n, heads·hd]`.
    fn attention_decode(
        &self,
        kv: &Self::Kv,
        layer: usize,
        q: &Self::Buf,
        tables: &[&PageTable],
        s: AttentionShape,
        out: &mut Self::Buf,
    );
}
