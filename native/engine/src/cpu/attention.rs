//! Causal grouped-query attention over a packed batch with shared prefixes, forward and backward.
//!
//! Column c of a score row is the key at position c: first the prefix's keys, then the segment's own. Scores are made for
//! 64 query rows at a time by the block GEMM; P = e^(scale·s − lse) is made again in backward, never stored (Dao et al. 2022):
//! dV = Pᵀ·dO, dP = dO·Vᵀ, dS = P∘(dP − δ)·scale with δ = Σ dO∘O, dQ = dS·K, dK = dSᵀ·Q.

use super::{Cpu, Shared};
use crate::device::AttentionShape;
use crate::gemm::{block, nr, pack_transposed, packed_len, MatA, Panels};
use crate::layout::{Layout, Segment};
use crate::simd::Simd;
use crate::simd_fn;
use std::cell::RefCell;

const ROWS: usize = 64;

#[derive(Default)]
struct Scratch {
    scores: Vec<f32>,
    grads: Vec<f32>,
    keys: [Vec<f32>; 2],
    values: [Vec<f32>; 2],
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

fn grow(v: &mut Vec<f32>, len: usize) -> *mut f32 {
    if v.len() < len {
        v.resize(len, 0.0);
    }
    v.as_mut_ptr()
}

/// Panels of the transpose of one head's columns: B(k = dim, n = token).
unsafe fn pack_head(x: *const f32, ld: usize, tokens: usize, hd: usize, into: &mut Vec<f32>) -> Panels {
    let dst = grow(into, packed_len(tokens, hd));
    for p in 0..tokens.div_ceil(nr()) {
        pack_transposed(x, ld, p, tokens, hd, dst.add(p * hd * nr()));
    }
    Panels::packed(dst, hd)
}

/// Row of raw scores → unnormalised probabilities e^(scale·(s − max)) on [lo, hi), 0 elsewhere in [0, cols). Returns (max·scale, sum).
#[inline(always)]
unsafe fn softmax_impl<S: Simd>(s: *mut f32, lo: usize, hi: usize, cols: usize, scale: f32) -> (f32, f32) {
    let l = S::LANES;
    let mut m = S::splat(f32::NEG_INFINITY);
    let mut max = f32::NEG_INFINITY;
    let mut i = lo;
    while i + l <= hi {
        m = S::max(m, S::load(s.add(i)));
        i += l;
    }
    while i < hi {
        max = max.max(*s.add(i));
        i += 1;
    }
    max = max.max(S::hmax(m));
    let (mv, sv) = (S::splat(max), S::splat(scale));
    let mut sum = S::zero();
    let mut tail = 0.0;
    i = lo;
    while i < hi {
        let n = l.min(hi - i);
        let e = S::exp(S::mul(S::sub(S::load_n(s.add(i), n), mv), sv));
        S::store_n(s.add(i), e, n);
        if n == l {
            sum = S::add(sum, e);
        } else {
            for j in 0..n {
                tail += *s.add(i + j);
            }
        }
        i += n;
    }
    std::ptr::write_bytes(s, 0, lo);
    std::ptr::write_bytes(s.add(hi), 0, cols - hi);
    (max * scale, S::sum(sum) + tail)
}
simd_fn! { unsafe fn softmax(s: *mut f32, lo: usize, hi: usize, cols: usize, scale: f32) -> (f32, f32) = softmax_impl }

/// s ← P = e^(scale·s − lse) on [lo, hi), 0 elsewhere; d ← P·(d − δ)·scale, 0 elsewhere.
#[inline(always)]
unsafe fn softmax_backward_impl<S: Simd>(
    s: *mut f32,
    d: *mut f32,
    lo: usize,
    hi: usize,
    cols: usize,
    scale: f32,
    lse: f32,
    delta: f32,
) {
    let (sv, lv, dv) = (S::splat(scale), S::splat(-lse), S::splat(delta));
    let mut i = lo;
    while i < hi {
        let n = S::LANES.min(hi - i);
        let p = S::exp(S::fma(S::load_n(s.add(i), n), sv, lv));
        S::store_n(s.add(i), p, n);
        S::store_n(d.add(i), S::mul(S::mul(p, S::sub(S::load_n(d.add(i), n), dv)), sv), n);
        i += n;
    }
    for x in [s, d] {
        std::ptr::write_bytes(x, 0, lo);
        std::ptr::write_bytes(x.add(hi), 0, cols - hi);
    }
}
simd_fn! { unsafe fn softmax_backward(s: *mut f32, d: *mut f32, lo: usize, hi: usize, cols: usize, scale: f32, lse: f32, delta: f32) = softmax_backward_impl }

#[inline(always)]
unsafe fn dot_impl<S: Simd>(a: *const f32, b: *const f32, n: usize) -> f32 {
    let mut s = S::zero();
    let mut i = 0;
    while i < n {
        s = S::fma(S::load_n(a.add(i), n - i), S::load_n(b.add(i), n - i), s);
        i += S::LANES;
    }
    S::sum(s)
}
simd_fn! { unsafe fn dot(a: *const f32, b: *const f32, n: usize) -> f32 = dot_impl }

#[inline(always)]
unsafe fn scale_impl<S: Simd>(x: *mut f32, n: usize, a: f32) {
    let av = S::splat(a);
    let mut i = 0;
    while i < n {
        let k = S::LANES.min(n - i);
        S::store_n(x.add(i), S::mul(S::load_n(x.add(i), k), av), k);
        i += k;
    }
}
simd_fn! { unsafe fn scale_row(x: *mut f32, n: usize, a: f32) = scale_impl }

/// The columns that query row `i` of segment `s` sees.
fn visible(s: &Segment, i: usize, window: Option<usize>) -> (usize, usize) {
    let position = s.position + i;
    (window.map_or(0, |w| (position + 1).saturating_sub(w)), position + 1)
}

pub fn forward(
    cpu: &Cpu,
    q: &[f32],
    k: &[f32],
    v: &[f32],
    layout: &Layout,
    sh: AttentionShape,
    out: &mut [f32],
    lse: &mut [f32],
) {
    let (hd, qd, kd) = (sh.head_dim, sh.heads * sh.head_dim, sh.kv_heads * sh.head_dim);
    let rows = layout.rows();
    assert!(
        q.len() >= rows * qd
            && k.len() >= rows * kd
            && v.len() >= rows * kd
            && out.len() >= rows * qd
            && lse.len() >= rows * sh.heads
    );
    let (op, lp) = (Shared(out.as_mut_ptr()), Shared(lse.as_mut_ptr()));
    cpu.pool.run(layout.groups.len() * sh.heads, |task| {
        let (group, h) = (&layout.groups[task / sh.heads], task % sh.heads);
        let kvh = h / (sh.heads / sh.kv_heads);
        SCRATCH.with(|scratch| {
            let x = &mut *scratch.borrow_mut();
            // SAFETY: this task owns head h of the group's rows in out and lse; inputs are read only; lengths checked above.
            unsafe {
                let mut prefix_keys = None;
                for (n, &si) in group.segments.iter().enumerate() {
                    let s = &layout.segments[si];
                    let keys = pack_head(
                        k.as_ptr().add(s.start * kd + kvh * hd),
                        kd,
                        s.len,
                        hd,
                        &mut x.keys[usize::from(n > 0)],
                    );
                    let prefix = s.parent.map(|p| &layout.segments[p]);
                    if n == 0 {
                        prefix_keys = Some(keys);
                    }
                    let lds = s.position + s.len;
                    let scores = grow(&mut x.scores, ROWS * lds);
                    let mut i0 = 0;
                    while i0 < s.len {
                        let m = ROWS.min(s.len - i0);
                        let a = MatA { ptr: q.as_ptr().add((s.start + i0) * qd + h * hd), row: qd, col: 1 };
                        let own = i0 + m;
                        let cols = s.position + own;
                        if let (Some(_), Some(pk)) = (prefix, prefix_keys) {
                            block(m, s.position, hd, a, pk, scores, lds, false);
                        }
                        block(m, own, hd, a, keys, scores.add(s.position), lds, false);
                        let mut sums = [0f32; ROWS];
                        for i in 0..m {
                            let (lo, hi) = visible(s, i0 + i, sh.window);
                            let (max, sum) = softmax(scores.add(i * lds), lo, hi, cols, sh.scale);
                            sums[i] = sum;
                            *lp.at((s.start + i0 + i) * sh.heads + h) = max + sum.ln();
                        }
                        let o = op.at((s.start + i0) * qd + h * hd);
                        if let Some(p) = prefix {
                            let vp = Panels::in_place(v.as_ptr().add(p.start * kd + kvh * hd), kd);
                            block(m, hd, p.len, MatA { ptr: scores, row: lds, col: 1 }, vp, o, qd, false);
                        }
                        let vo = Panels::in_place(v.as_ptr().add(s.start * kd + kvh * hd), kd);
                        block(
                            m,
                            hd,
                            own,
                            MatA { ptr: scores.add(s.position), row: lds, col: 1 },
                            vo,
                            o,
                            qd,
                            prefix.is_some(),
                        );
                        for i in 0..m {
                            scale_row(o.add(i * qd), hd, 1.0 / sums[i]);
                        }
                        i0 += m;
                    }
                }
            }
        });
    });
}

pub fn backward(
    cpu: &Cpu,
    dout: &[f32],
    out: &[f32],
    lse: &[f32],
    q: &[f32],
    k: &[f32],
    v: &[f32],
    layout: &Layout,
    sh: AttentionShape,
    dq: &mut [f32],
    dk: &mut [f32],
    dv: &mut [f32],
) {
    let (hd, qd, kd) = (sh.head_dim, sh.heads * sh.head_dim, sh.kv_heads * sh.head_dim);
    let per = sh.heads / sh.kv_heads;
    let rows = layout.rows();
    assert!(
        dout.len() >= rows * qd
            && out.len() >= rows * qd
            && dq.len() >= rows * qd
            && dk.len() >= rows * kd
            && dv.len() >= rows * kd
    );
    dk[..rows * kd].fill(0.0);
    dv[..rows * kd].fill(0.0);
    let (dqp, dkp, dvp) = (Shared(dq.as_mut_ptr()), Shared(dk.as_mut_ptr()), Shared(dv.as_mut_ptr()));
    cpu.pool.run(layout.groups.len() * sh.kv_heads, |task| {
        let (group, kvh) = (&layout.groups[task / sh.kv_heads], task % sh.kv_heads);
        SCRATCH.with(|scratch| {
            let x = &mut *scratch.borrow_mut();
            // SAFETY: this task owns kv head kvh (and its query heads) of the group's rows in dq, dk, dv.
            unsafe {
                let (mut pk, mut pv) = (None, None);
                for (n, &si) in group.segments.iter().enumerate() {
                    let s = &layout.segments[si];
                    let slot = usize::from(n > 0);
                    let kv_at = |s: &Segment| s.start * kd + kvh * hd;
                    let keys = pack_head(k.as_ptr().add(kv_at(s)), kd, s.len, hd, &mut x.keys[slot]);
                    let values = pack_head(v.as_ptr().add(kv_at(s)), kd, s.len, hd, &mut x.values[slot]);
                    if n == 0 {
                        (pk, pv) = (Some(keys), Some(values));
                    }
                    let prefix = s.parent.map(|p| &layout.segments[p]).zip(pk.zip(pv));
                    let lds = s.position + s.len;
                    let scores = grow(&mut x.scores, ROWS * lds);
                    let grads = grow(&mut x.grads, ROWS * lds);
                    for h in kvh * per..(kvh + 1) * per {
                        let mut i0 = 0;
                        while i0 < s.len {
                            let m = ROWS.min(s.len - i0);
                            let at = (s.start + i0) * qd + h * hd;
                            let own = i0 + m;
                            let cols = s.position + own;
                            let qa = MatA { ptr: q.as_ptr().add(at), row: qd, col: 1 };
                            let da = MatA { ptr: dout.as_ptr().add(at), row: qd, col: 1 };
                            if let Some((p, (pk, pv))) = prefix {
                                block(m, p.len, hd, qa, pk, scores, lds, false);
                                block(m, p.len, hd, da, pv, grads, lds, false);
                            }
                            block(m, own, hd, qa, keys, scores.add(s.position), lds, false);
                            block(m, own, hd, da, values, grads.add(s.position), lds, false);
                            for i in 0..m {
                                let (lo, hi) = visible(s, i0 + i, sh.window);
                                let delta = dot(dout.as_ptr().add(at + i * qd), out.as_ptr().add(at + i * qd), hd);
                                let l = lse[(s.start + i0 + i) * sh.heads + h];
                                softmax_backward(
                                    scores.add(i * lds),
                                    grads.add(i * lds),
                                    lo,
                                    hi,
                                    cols,
                                    sh.scale,
                                    l,
                                    delta,
                                );
                            }
                            let dqo = dqp.at(at);
                            let mut acc = false;
                            for (seg, from, len) in
                                prefix.map(|(p, _)| (p, 0, p.len)).into_iter().chain([(s, s.position, own)])
                            {
                                let (kin, to) = (kv_at(seg), grads.add(from));
                                block(
                                    m,
                                    hd,
                                    len,
                                    MatA { ptr: to, row: lds, col: 1 },
                                    Panels::in_place(k.as_ptr().add(kin), kd),
                                    dqo,
                                    qd,
                                    acc,
                                );
                                acc = true;
                                block(
                                    len,
                                    hd,
                                    m,
                                    MatA { ptr: to, row: 1, col: lds },
                                    Panels::in_place(q.as_ptr().add(at), qd),
                                    dkp.at(kin),
                                    kd,
                                    true,
                                );
                                block(
                                    len,
                                    hd,
                                    m,
                                    MatA { ptr: scores.add(from), row: 1, col: lds },
                                    Panels::in_place(dout.as_ptr().add(at), qd),
                                    dvp.at(kin),
                                    kd,
                                    true,
                                );
                            }
                            i0 += m;
                        }
                    }
                }
            }
        });
    });
}
