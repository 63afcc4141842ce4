//! The CPU device: buffers, weights, and the list of its ops.

mod adamw;
mod attention;
mod attention_decode;
mod elementwise;
mod embedding;
mod glu;
mod linear;
mod logprob;
mod rms_norm;
mod rope;

use crate::config::Activation;
use crate::device::{AdamW, AttentionShape, Device, PageTable};
use crate::error::Result;
use crate::formats::TensorView;
use crate::layout::Layout;
use crate::pool::Pool;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

pub use attention_decode::CpuKv;
pub use linear::CpuMatrix;
pub(crate) use logprob::row_stats;

/// Buffers that were let go, by length class: a training step asks for the same sizes again and again, and fresh pages from
/// the system cost more than the arithmetic on them.
#[derive(Default)]
struct Shelf {
    free: Mutex<BTreeMap<usize, Vec<Vec<f32>>>>,
    live: AtomicUsize,
    peak: AtomicUsize,
}

pub struct CpuBuf {
    data: Vec<f32>,
    shelf: Arc<Shelf>,
}

impl std::ops::Deref for CpuBuf {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.data
    }
}
impl std::ops::DerefMut for CpuBuf {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }
}

impl Drop for CpuBuf {
    fn drop(&mut self) {
        self.shelf.live.fetch_sub(self.data.len() * 4, Relaxed);
        let data = std::mem::take(&mut self.data);
        if let Ok(mut free) = self.shelf.free.lock() {
            free.entry(data.len()).or_default().push(data);
        }
    }
}

pub struct Cpu {
    pub pool: Pool,
    shelf: Arc<Shelf>,
    /// Keep weights in panel form between calls: worth it for small models, too much memory for large ones.
    keep_panels: std::sync::atomic::AtomicBool,
}

/// A raw pointer that tasks share; each writes its own rows.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub *mut T);
// SAFETY: users write disjoint ranges, by the contract of `Pool::run`.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}
impl<T> Shared<T> {
    pub fn at(&self, i: usize) -> *mut T {
        // SAFETY: callers stay within the buffer they made this from.
        unsafe { self.0.add(i) }
    }
}

impl Cpu {
    pub fn new(threads: usize) -> Self {
        Self { pool: Pool::new(threads), shelf: Arc::default(), keep_panels: true.into() }
    }

    fn keeps_panels(&self) -> bool {
        self.keep_panels.load(Relaxed)
    }

    /// Length classes an eighth apart: little waste, and ragged batches still find a used buffer.
    fn class(len: usize) -> usize {
        let step = (len.max(64).next_power_of_two() / 16).max(64);
        len.max(1).div_ceil(step) * step
    }

    fn take(&self, len: usize) -> CpuBuf {
        let class = Self::class(len);
        // A somewhat larger one will do: ragged batches would otherwise leave a buffer of every length behind.
        let reused = self.shelf.free.lock().ok().and_then(|mut free| {
            free.range_mut(class..=class + class / 2)
                .find(|(_, list)| !list.is_empty())
                .and_then(|(_, list)| list.pop())
        });
        let data = reused.unwrap_or_else(|| vec![0.0; class]);
        let bytes = data.len() * 4;
        let live = self.shelf.live.fetch_add(bytes, Relaxed) + bytes;
        self.shelf.peak.fetch_max(live, Relaxed);
        CpuBuf { data, shelf: self.shelf.clone() }
    }
}

impl Device for Cpu {
    type Buf = CpuBuf;
    type Matrix = CpuMatrix;
    type Kv = CpuKv;

    fn alloc(&self, len: usize) -> CpuBuf {
        self.take(len)
    }
    fn zeros(&self, len: usize) -> CpuBuf {
        let mut b = self.take(len);
        b.fill(0.0);
        b
    }
    fn upload(&self, data: &[f32]) -> CpuBuf {
        let mut b = self.take(data.len());
        b[..data.len()].copy_from_slice(data);
        b
    }
    fn download(&self, buf: &CpuBuf, out: &mut [f32]) {
        out.copy_from_slice(&buf[..out.len()]);
    }
    fn copy(&self, from: &CpuBuf, to: &mut CpuBuf, len: usize) {
        let to = Shared(to.as_mut_ptr());
        self.pool.run_ranges(len, 1 << 15, |a, b| {
            // SAFETY: ranges are disjoint and within both buffers.
            unsafe { std::ptr::copy_nonoverlapping(from[a..b].as_ptr(), to.at(a), b - a) }
        });
    }
    fn fill(&self, buf: &mut CpuBuf, value: f32) {
        buf.fill(value);
    }
    fn memory(&self) -> (usize, usize) {
        (self.shelf.live.load(Relaxed), self.shelf.peak.load(Relaxed))
    }
    fn reset_peak(&self) {
        self.shelf.peak.store(self.shelf.live.load(Relaxed), Relaxed);
    }
    fn keep_panels(&self, keep: bool) {
        self.keep_panels.store(keep, Relaxed);
    }
    fn trim(&self) {
        if let Ok(mut free) = self.shelf.free.lock() {
            free.clear();
        }
    }

    fn matrix_dense(&self, data: Vec<f32>, out: usize, inn: usize) -> CpuMatrix {
        CpuMatrix::dense(self.upload(&data), out, inn)
    }
    fn matrix_encoded(&self, view: TensorView) -> CpuMatrix {
        CpuMatrix::encoded(view)
    }
    fn matrix_buf<'a>(&self, m: &'a CpuMatrix) -> Option<&'a CpuBuf> {
        m.buf()
    }
    fn matrix_buf_mut<'a>(&self, m: &'a mut CpuMatrix) -> Option<&'a mut CpuBuf> {
        m.buf_mut()
    }
    fn matrix_download(&self, m: &CpuMatrix) -> Result<Vec<f32>> {
        m.to_vec()
    }

    fn pin(&self, m: &CpuMatrix, on: bool) {
        m.pin(self, on);
    }
    fn linear(&self, x: &CpuBuf, rows: usize, w: &CpuMatrix, y: &mut CpuBuf, acc: bool) {
        linear::forward(self, x, rows, w, y, acc);
    }
    fn linear_decode(&self, x: &CpuBuf, rows: usize, w: &CpuMatrix, y: &mut CpuBuf, acc: bool) {
        linear::decode(self, x, rows, w, y, acc);
    }
    fn linear_dx(&self, dy: &CpuBuf, rows: usize, w: &CpuMatrix, dx: &mut CpuBuf, acc: bool) {
        linear::backward_input(self, dy, rows, w, dx, acc);
    }
    fn linear_dw(&self, dy: &CpuBuf, x: &CpuBuf, rows: usize, out: usize, inn: usize, dw: &mut CpuBuf) {
        linear::backward_weight(self, dy, x, rows, out, inn, dw);
    }
    fn add_bias(&self, y: &mut CpuBuf, rows: usize, b: &CpuBuf, n: usize) {
        linear::add_bias(self, y, rows, b, n);
    }
    fn bias_grad(&self, dy: &CpuBuf, rows: usize, n: usize, db: &mut CpuBuf) {
        linear::bias_grad(dy, rows, n, db);
    }

    fn rms_norm(
        &self,
        x: &CpuBuf,
        rows: usize,
        d: usize,
        w: &CpuBuf,
        eps: f32,
        plus_one: bool,
        y: &mut CpuBuf,
        rstd: &mut CpuBuf,
    ) {
        rms_norm::forward(self, x, rows, d, w, eps, plus_one, y, rstd);
    }
    fn rms_norm_backward(
        &self,
        dy: &CpuBuf,
        x: &CpuBuf,
        rstd: &CpuBuf,
        rows: usize,
        d: usize,
        w: &CpuBuf,
        plus_one: bool,
        dx: &mut CpuBuf,
        acc: bool,
        dw: Option<&mut CpuBuf>,
    ) {
        rms_norm::backward(self, dy, x, rstd, rows, d, w, plus_one, dx, acc, dw);
    }
    fn rope(&self, x: &mut CpuBuf, heads: usize, head_dim: usize, positions: &[u32], table: &CpuBuf, inverse: bool) {
        rope::rotate(self, x, heads, head_dim, positions, table, inverse);
    }
    fn attention(
        &self,
        q: &CpuBuf,
        k: &CpuBuf,
        v: &CpuBuf,
        layout: &Layout,
        s: AttentionShape,
        out: &mut CpuBuf,
        lse: &mut CpuBuf,
    ) {
        attention::forward(self, q, k, v, layout, s, out, lse);
    }
    fn attention_backward(
        &self,
        dout: &CpuBuf,
        out: &CpuBuf,
        lse: &CpuBuf,
        q: &CpuBuf,
        k: &CpuBuf,
        v: &CpuBuf,
        layout: &Layout,
        s: AttentionShape,
        dq: &mut CpuBuf,
        dk: &mut CpuBuf,
        dv: &mut CpuBuf,
    ) {
        attention::backward(self, dout, out, lse, q, k, v, layout, s, dq, dk, dv);
    }
    fn glu(&self, g: &CpuBuf, u: &CpuBuf, act: Activation, len: usize, h: &mut CpuBuf) {
        glu::forward(self, g, u, act, len, h);
    }
    fn glu_backward(&self, dh: &CpuBuf, g: &mut CpuBuf, u: &mut CpuBuf, act: Activation, len: usize, h: &mut CpuBuf) {
        glu::backward(self, dh, g, u, act, len, h);
    }
    fn embed(&self, w: &CpuMatrix, ids: &[i32], scale: f32, out: &mut CpuBuf) {
        embedding::forward(self, w, ids, scale, out);
    }
    fn embed_backward(&self, dx: &CpuBuf, ids: &[i32], d: usize, scale: f32, dw: &mut CpuBuf) {
        embedding::backward(dx, ids, d, scale, dw);
    }
    fn gather(&self, x: &CpuBuf, rows: &[u32], d: usize, out: &mut CpuBuf) {
        embedding::gather(x, rows, d, out);
    }
    fn scatter_add(&self, dout: &CpuBuf, rows: &[u32], d: usize, dx: &mut CpuBuf) {
        embedding::scatter_add(dout, rows, d, dx);
    }
    fn axpy(&self, a: f32, x: &CpuBuf, len: usize, y: &mut CpuBuf) {
        elementwise::axpy(self, a, x, len, y);
    }
    fn scale(&self, a: f32, x: &mut CpuBuf, len: usize) {
        x[..len].iter_mut().for_each(|x| *x *= a);
    }
    fn dropout(&self, x: &CpuBuf, len: usize, p: f32, seed: u64, y: &mut CpuBuf) {
        elementwise::dropout(self, x, len, p, seed, y);
    }
    fn logprob(
        &self,
        logits: &CpuBuf,
        rows: usize,
        vocab: usize,
        targets: &[i32],
        temperature: f32,
        lp: &mut CpuBuf,
        entropy: &mut CpuBuf,
        correct: &mut CpuBuf,
        lse: &mut CpuBuf,
    ) {
        logprob::forward(self, logits, rows, vocab, targets, temperature, lp, entropy, correct, lse);
    }
    fn logprob_backward(
        &self,
        logits: &mut CpuBuf,
        rows: usize,
        vocab: usize,
        targets: &[i32],
        temperature: f32,
        lse: &CpuBuf,
        entropy: &CpuBuf,
        dlp: &[f32],
        dentropy: Option<&[f32]>,
    ) {
        logprob::backward(self, logits, rows, vocab, targets, temperature, lse, entropy, dlp, dentropy);
    }
    fn norm_squared(&self, x: &CpuBuf, len: usize) -> (f64, u64) {
        adamw::norm_squared(self, x, len)
    }
    fn adamw(&self, w: &mut CpuBuf, g: &CpuBuf, m: &mut CpuBuf, v: &mut CpuBuf, len: usize, o: AdamW) -> u64 {
        adamw::step(self, w, g, m, v, len, o)
    }

    fn map_rows<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let mut out: Vec<Option<T>> = (0..n).map(|_| None).collect();
        let op = Shared(out.as_mut_ptr());
        self.pool.run_ranges(n, 8, |a, b| {
            for i in a..b {
                // SAFETY: slot i is this task's own.
                unsafe { *op.at(i) = Some(f(i)) };
            }
        });
        out.into_iter().flatten().collect()
    }

    fn kv_new(&self, layers: usize, kv_heads: usize, head_dim: usize) -> CpuKv {
        CpuKv::new(layers, kv_heads, head_dim)
    }
    fn kv_write(&self, kv: &mut CpuKv, layer: usize, k: &CpuBuf, v: &CpuBuf, at: &[(u32, u32)]) {
        kv.write(layer, k, v, at);
    }
    fn kv_page_bytes(&self, kv: &CpuKv) -> usize {
        kv.page_floats() * 4
    }
    fn kv_clear(&self, kv: &mut CpuKv) {
        kv.clear();
    }
    fn attention_decode(
        &self,
        kv: &CpuKv,
        layer: usize,
        q: &CpuBuf,
        tables: &[&PageTable],
        s: AttentionShape,
        out: &mut CpuBuf,
    ) {
        attention_decode::forward(self, kv, layer, q, tables, s, out);
    }
}
