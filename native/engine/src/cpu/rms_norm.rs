//! RMSNorm over rows of length d: y = x·rstd·w, rstd = (mean x² + eps)^-½ (Zhang & Sennrich 2019).
//! Backward: with x̂ = x·rstd and g = dy·w, dx = rstd·(g − x̂·mean(g·x̂)), dw = Σ_rows dy·x̂.

use super::{Cpu, Shared};
use crate::simd::Simd;
use crate::simd_fn;

#[inline(always)]
unsafe fn forward_rows<S: Simd>(
    x: *const f32,
    rows: usize,
    d: usize,
    w: *const f32,
    eps: f32,
    one: f32,
    y: *mut f32,
    rstd: *mut f32,
) {
    let l = S::LANES;
    for r in 0..rows {
        let (x, y) = (x.add(r * d), y.add(r * d));
        let mut s = S::zero();
        let mut i = 0;
        while i < d {
            let v = S::load_n(x.add(i), d - i);
            s = S::fma(v, v, s);
            i += l;
        }
        let rs = 1.0 / (S::sum(s) / d as f32 + eps).sqrt();
        *rstd.add(r) = rs;
        let (rv, ov) = (S::splat(rs), S::splat(one));
        i = 0;
        while i < d {
            let n = l.min(d - i);
            let wv = S::add(S::load_n(w.add(i), n), ov);
            S::store_n(y.add(i), S::mul(S::mul(S::load_n(x.add(i), n), rv), wv), n);
            i += l;
        }
    }
}
simd_fn! { unsafe fn forward_kernel(x: *const f32, rows: usize, d: usize, w: *const f32, eps: f32, one: f32, y: *mut f32, rstd: *mut f32) = forward_rows }

#[inline(always)]
unsafe fn backward_rows<S: Simd>(
    dy: *const f32,
    x: *const f32,
    rstd: *const f32,
    rows: usize,
    d: usize,
    w: *const f32,
    one: f32,
    dx: *mut f32,
    acc: bool,
    dw: *mut f32,
) {
    let l = S::LANES;
    let ov = S::splat(one);
    for r in 0..rows {
        let (dy, x, dx) = (dy.add(r * d), x.add(r * d), dx.add(r * d));
        let rs = S::splat(*rstd.add(r));
        let mut s = S::zero();
        let mut i = 0;
        while i < d {
            let n = l.min(d - i);
            let g = S::mul(S::load_n(dy.add(i), n), S::add(S::load_n(w.add(i), n), ov));
            s = S::fma(g, S::mul(S::load_n(x.add(i), n), rs), s);
            i += l;
        }
        let mean = S::splat(-S::sum(s) / d as f32);
        i = 0;
        while i < d {
            let n = l.min(d - i);
            let dyv = S::load_n(dy.add(i), n);
            let xh = S::mul(S::load_n(x.add(i), n), rs);
            let g = S::mul(dyv, S::add(S::load_n(w.add(i), n), ov));
            let v = S::mul(rs, S::fma(xh, mean, g));
            S::store_n(dx.add(i), if acc { S::add(v, S::load_n(dx.add(i), n)) } else { v }, n);
            if !dw.is_null() {
                S::store_n(dw.add(i), S::fma(dyv, xh, S::load_n(dw.add(i), n)), n);
            }
            i += l;
        }
    }
}
simd_fn! { unsafe fn backward_kernel(dy: *const f32, x: *const f32, rstd: *const f32, rows: usize, d: usize, w: *const f32, one: f32, dx: *mut f32, acc: bool, dw: *mut f32) = backward_rows }

fn grain(d: usize) -> usize {
    (1 << 13) / d.max(1) + 1
}

pub fn forward(
    cpu: &Cpu,
    x: &[f32],
    rows: usize,
    d: usize,
    w: &[f32],
    eps: f32,
    plus_one: bool,
    y: &mut [f32],
    rstd: &mut [f32],
) {
    assert!(x.len() >= rows * d && y.len() >= rows * d && w.len() >= d && rstd.len() >= rows);
    let (yp, rp) = (Shared(y.as_mut_ptr()), Shared(rstd.as_mut_ptr()));
    cpu.pool.run_ranges(rows, grain(d), |a, b| {
        // SAFETY: rows a..b are this task's own; lengths checked above.
        unsafe {
            forward_kernel(x[a * d..].as_ptr(), b - a, d, w.as_ptr(), eps, f32::from(plus_one), yp.at(a * d), rp.at(a))
        }
    });
}

pub fn backward<B: std::ops::DerefMut<Target = [f32]>>(
    cpu: &Cpu,
    dy: &[f32],
    x: &[f32],
    rstd: &[f32],
    rows: usize,
    d: usize,
    w: &[f32],
    plus_one: bool,
    dx: &mut [f32],
    acc: bool,
    dw: Option<&mut B>,
) {
    assert!(dy.len() >= rows * d && x.len() >= rows * d && dx.len() >= rows * d);
    // Partial weight gradients of fixed row blocks, added in order: the sum does not depend on who computed what.
    const BLOCK: usize = 256;
    let blocks = rows.div_ceil(BLOCK);
    let mut partial = if dw.is_some() { Some(cpu.take(blocks * d)) } else { None };
    let pp = partial.as_mut().map(|p| Shared(p.as_mut_ptr()));
    let dxp = Shared(dx.as_mut_ptr());
    cpu.pool.run(blocks, |t| {
        let (a, b) = (t * BLOCK, rows.min((t + 1) * BLOCK));
        // SAFETY: rows a..b and partial t are this task's own.
        unsafe {
            let part = pp.map_or(std::ptr::null_mut(), |p| p.at(t * d));
            if !part.is_null() {
                std::ptr::write_bytes(part, 0, d);
            }
            backward_kernel(
                dy[a * d..].as_ptr(),
                x[a * d..].as_ptr(),
                rstd[a..].as_ptr(),
                b - a,
                d,
                w.as_ptr(),
                f32::from(plus_one),
                dxp.at(a * d),
                acc,
                part,
            );
        }
    });
    if let (Some(dw), Some(partial)) = (dw, partial) {
        for t in 0..blocks {
            dw.iter_mut().zip(&partial[t * d..(t + 1) * d]).take(d).for_each(|(g, p)| *g += p);
        }
    }
}
