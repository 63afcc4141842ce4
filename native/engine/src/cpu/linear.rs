//! Matrix products with a weight W `[out, in]`: y = x·Wᵀ, dx = dy·W, dW += dyᵀ·x, and the decode form on stored weights.

use super::{Cpu, CpuBuf, Shared};
use crate::error::Result;
use crate::formats::{dequantize_into, TensorView};
use crate::gemm::{self, gemm, nr, packed_len, MatA, Panels};
use crate::simd::Simd;
use crate::simd_fn;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

enum Data {
    Dense(CpuBuf),
    Encoded(TensorView),
}

#[derive(Default)]
struct PanelCache {
    pinned: bool,
    forward: Option<Arc<CpuBuf>>,
    backward: Option<Arc<CpuBuf>>,
}

pub struct CpuMatrix {
    pub out: usize,
    pub inn: usize,
    data: Data,
    cache: Mutex<PanelCache>,
}

thread_local! {
    static ROW: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

fn with_row<R>(len: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    ROW.with(|r| {
        let mut r = r.borrow_mut();
        if r.len() < len {
            r.resize(len, 0.0);
        }
        f(&mut r[..len])
    })
}

simd_fn! {
    /// Decode whole blocks with the vector instructions at hand.
    unsafe fn decode_blocks(view: &TensorView, bytes: &[u8], out: &mut [f32]) = decode_blocks_impl
}
#[inline(always)]
unsafe fn decode_blocks_impl<S: Simd>(view: &TensorView, bytes: &[u8], out: &mut [f32]) {
    let _ = S::LANES;
    dequantize_into(view.dtype, bytes, out);
}

impl CpuMatrix {
    pub(super) fn dense(data: CpuBuf, out: usize, inn: usize) -> Self {
        Self { out, inn, data: Data::Dense(data), cache: Mutex::default() }
    }
    pub(super) fn encoded(view: TensorView) -> Self {
        let inn = view.shape.last().copied().unwrap_or(1);
        let out = view.shape.iter().product::<usize>() / inn.max(1);
        Self { out, inn, data: Data::Encoded(view), cache: Mutex::default() }
    }
    pub(super) fn buf(&self) -> Option<&CpuBuf> {
        match &self.data {
            Data::Dense(b) => Some(b),
            Data::Encoded(_) => None,
        }
    }
    pub(super) fn buf_mut(&mut self) -> Option<&mut CpuBuf> {
        *self.cache.lock().unwrap_or_else(|e| e.into_inner()) = PanelCache::default();
        match &mut self.data {
            Data::Dense(b) => Some(b),
            Data::Encoded(_) => None,
        }
    }
    pub(super) fn to_vec(&self) -> Result<Vec<f32>> {
        match &self.data {
            Data::Dense(b) => Ok(b[..self.out * self.inn].to_vec()),
            Data::Encoded(v) => v.to_f32(),
        }
    }

    /// Row `n` decoded into `dst`.
    pub(super) fn row_into(&self, n: usize, dst: &mut [f32]) {
        match &self.data {
            Data::Dense(b) => dst.copy_from_slice(&b[n * self.inn..(n + 1) * self.inn]),
            Data::Encoded(v) => {
                // SAFETY: `simd_fn` picks instructions that the processor has.
                unsafe { decode_blocks(v, v.row(n), dst) }
            }
        }
    }

    /// Panels of B(k, n) = W[n, k], for y = x·Wᵀ.
    fn forward_panels(&self, cpu: &Cpu) -> Arc<CpuBuf> {
        if let Some(p) = &self.cache.lock().unwrap_or_else(|e| e.into_inner()).forward {
            return p.clone();
        }
        let (n, k) = (self.out, self.inn);
        let mut panels = cpu.take(packed_len(n, k));
        let dst = Shared(panels.as_mut_ptr());
        cpu.pool.run(n.div_ceil(nr()), |p| {
            let at = dst.at(p * k * nr());
            // SAFETY: panel p is this task's own; sources cover n × k.
            unsafe {
                match &self.data {
                    Data::Dense(w) => gemm::pack_transposed(w.as_ptr(), k, p, n, k, at),
                    Data::Encoded(_) => {
                        let rows = nr().min(n - p * nr());
                        with_row(rows * k, |tmp| {
                            for j in 0..rows {
                                self.row_into(p * nr() + j, &mut tmp[j * k..(j + 1) * k]);
                            }
                            gemm::pack_transposed(tmp.as_ptr(), k, 0, rows, k, at);
                        });
                    }
                }
            }
        });
        self.keep(cpu, panels, |c| &mut c.forward)
    }

    /// Panels of B(k, n) = W[k, n], for dx = dy·W.
    fn backward_panels(&self, cpu: &Cpu) -> Arc<CpuBuf> {
        if let Some(p) = &self.cache.lock().unwrap_or_else(|e| e.into_inner()).backward {
            return p.clone();
        }
        let (n, k) = (self.inn, self.out);
        let mut panels = cpu.take(packed_len(n, k));
        let dst = Shared(panels.as_mut_ptr());
        match &self.data {
            Data::Dense(w) => cpu.pool.run(n.div_ceil(nr()), |p| {
                // SAFETY: panel p is this task's own.
                unsafe { gemm::pack_rows(w.as_ptr(), n, p, n, k, dst.at(p * k * nr())) }
            }),
            Data::Encoded(_) => cpu.pool.run_ranges(k, 32, |a, b| {
                with_row(n, |row| {
                    for kk in a..b {
                        self.row_into(kk, row);
                        for p in 0..n.div_ceil(nr()) {
                            let cols = nr().min(n - p * nr());
                            let at = dst.at((p * k + kk) * nr());
                            // SAFETY: line kk of every panel belongs to this task's range of kk.
                            unsafe {
                                std::ptr::copy_nonoverlapping(row[p * nr()..].as_ptr(), at, cols);
                                std::ptr::write_bytes(at.add(cols), 0, nr() - cols);
                            }
                        }
                    }
                });
            }),
        }
        self.keep(cpu, panels, |c| &mut c.backward)
    }

    pub(super) fn pin(&self, cpu: &Cpu, on: bool) {
        let mut cache = self.cache.lock().unwrap_or_else(|e| e.into_inner());
        cache.pinned = on;
        if !on && !cpu.keeps_panels() {
            *cache = PanelCache::default();
        }
    }

    fn keep(
        &self,
        cpu: &Cpu,
        panels: CpuBuf,
        slot: impl Fn(&mut PanelCache) -> &mut Option<Arc<CpuBuf>>,
    ) -> Arc<CpuBuf> {
        let panels = Arc::new(panels);
        let mut cache = self.cache.lock().unwrap_or_else(|e| e.into_inner());
        if cache.pinned || (cpu.keeps_panels() && matches!(self.data, Data::Dense(_))) {
            *slot(&mut cache) = Some(panels.clone());
        }
        panels
    }
}

pub fn forward(cpu: &Cpu, x: &[f32], rows: usize, w: &CpuMatrix, y: &mut [f32], acc: bool) {
    let (n, k) = (w.out, w.inn);
    assert!(x.len() >= rows * k && y.len() >= rows * n);
    let panels = w.forward_panels(cpu);
    let a = MatA { ptr: x.as_ptr(), row: k, col: 1 };
    // SAFETY: lengths checked above.
    unsafe { gemm(&cpu.pool, rows, n, k, a, Panels::packed(panels.as_ptr(), k), y.as_mut_ptr(), n, acc) };
}

pub fn backward_input(cpu: &Cpu, dy: &[f32], rows: usize, w: &CpuMatrix, dx: &mut [f32], acc: bool) {
    let (n, k) = (w.inn, w.out);
    assert!(dy.len() >= rows * k && dx.len() >= rows * n);
    let panels = w.backward_panels(cpu);
    let a = MatA { ptr: dy.as_ptr(), row: k, col: 1 };
    // SAFETY: lengths checked above.
    unsafe { gemm(&cpu.pool, rows, n, k, a, Panels::packed(panels.as_ptr(), k), dx.as_mut_ptr(), n, acc) };
}

pub fn backward_weight(cpu: &Cpu, dy: &[f32], x: &[f32], rows: usize, out: usize, inn: usize, dw: &mut [f32]) {
    assert!(dy.len() >= rows * out && x.len() >= rows * inn && dw.len() >= out * inn);
    let mut panels = cpu.take(packed_len(inn, rows));
    let dst = Shared(panels.as_mut_ptr());
    cpu.pool.run(inn.div_ceil(nr()), |p| {
        // SAFETY: panel p is this task's own.
        unsafe { gemm::pack_rows(x.as_ptr(), inn, p, inn, rows, dst.at(p * rows * nr())) }
    });
    let a = MatA { ptr: dy.as_ptr(), row: 1, col: out };
    // SAFETY: lengths checked above.
    unsafe { gemm(&cpu.pool, out, inn, rows, a, Panels::packed(panels.as_ptr(), rows), dw.as_mut_ptr(), inn, true) };
}

#[inline(always)]
unsafe fn dots_impl<S: Simd>(x: *const f32, rows: usize, k: usize, w: *const f32, y: *mut f32, ldy: usize, acc: bool) {
    // Two accumulators a row, in the same order for any number of rows.
    let l = S::LANES;
    let mut i = 0;
    while i < rows {
        let r = (rows - i).min(4);
        let mut s = [[S::zero(); 2]; 4];
        let mut t = 0;
        while t + 2 * l <= k {
            let (w0, w1) = (S::load(w.add(t)), S::load(w.add(t + l)));
            for j in 0..r {
                let xp = x.add((i + j) * k + t);
                s[j][0] = S::fma(S::load(xp), w0, s[j][0]);
                s[j][1] = S::fma(S::load(xp.add(l)), w1, s[j][1]);
            }
            t += 2 * l;
        }
        while t < k {
            let n = l.min(k - t);
            let wv = S::load_n(w.add(t), n);
            for j in 0..r {
                s[j][0] = S::fma(S::load_n(x.add((i + j) * k + t), n), wv, s[j][0]);
            }
            t += n;
        }
        for j in 0..r {
            let at = y.add((i + j) * ldy);
            let d = S::sum(S::add(s[j][0], s[j][1]));
            *at = if acc { *at + d } else { d };
        }
        i += r;
    }
}
simd_fn! {
    /// y[i·ldy] (+)= x_i · w for every row of x.
    unsafe fn dots(x: *const f32, rows: usize, k: usize, w: *const f32, y: *mut f32, ldy: usize, acc: bool) = dots_impl
}

/// Few rows against stored weights. A small dense model uses its kept panels; otherwise each weight row is decoded once, in
/// cache, and multiplied with all rows: the arithmetic is exact fp32, nothing is rounded to 8 bits.
pub fn decode(cpu: &Cpu, x: &[f32], rows: usize, w: &CpuMatrix, y: &mut [f32], acc: bool) {
    if cpu.keeps_panels() && matches!(w.data, Data::Dense(_)) {
        return forward(cpu, x, rows, w, y, acc);
    }
    let (n, k) = (w.out, w.inn);
    assert!(x.len() >= rows * k && y.len() >= rows * n);
    let out = Shared(y.as_mut_ptr());
    cpu.pool.run_ranges(n, 32, |a, b| {
        with_row(k, |row| {
            for j in a..b {
                let wp = match &w.data {
                    Data::Dense(d) => d[j * k..].as_ptr(),
                    Data::Encoded(_) => {
                        w.row_into(j, row);
                        row.as_ptr()
                    }
                };
                // SAFETY: column j of y belongs to this task.
                unsafe { dots(x.as_ptr(), rows, k, wp, out.at(j), n, acc) };
            }
        });
    });
}

pub fn add_bias(cpu: &Cpu, y: &mut [f32], rows: usize, b: &[f32], n: usize) {
    let y = Shared(y.as_mut_ptr());
    cpu.pool.run_ranges(rows, (1 << 15) / n.max(1) + 1, |r0, r1| {
        for r in r0..r1 {
            // SAFETY: row r is this task's own.
            let row = unsafe { std::slice::from_raw_parts_mut(y.at(r * n), n) };
            row.iter_mut().zip(b).for_each(|(y, b)| *y += b);
        }
    });
}

pub fn bias_grad(dy: &[f32], rows: usize, n: usize, db: &mut [f32]) {
    for r in 0..rows {
        db.iter_mut().zip(&dy[r * n..(r + 1) * n]).for_each(|(d, g)| *d += g);
    }
}
