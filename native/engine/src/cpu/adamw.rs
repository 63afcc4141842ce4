//! AdamW with decoupled decay (Loshchilov & Hutter 2019), on fp32 weights:
//! m ← β1·m + (1−β1)·g, v ← β2·v + (1−β2)·g², p ← p·(1 − lr·wd) − lr·m̂/(√v̂ + eps).

use super::{Cpu, Shared};
use crate::device::AdamW;
use crate::simd::Simd;
use crate::simd_fn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[inline(always)]
unsafe fn step_impl<S: Simd>(w: *mut f32, g: *const f32, m: *mut f32, v: *mut f32, len: usize, o: AdamW) -> u64 {
    let c1 = 1.0 - (o.beta1 as f64).powf(o.step as f64);
    let c2 = 1.0 - (o.beta2 as f64).powf(o.step as f64);
    let (b1, b2) = (S::splat(o.beta1), S::splat(o.beta2));
    let (a1, a2) = (S::splat(1.0 - o.beta1), S::splat(1.0 - o.beta2));
    let gs = S::splat(o.grad_scale);
    let decay = S::splat((1.0 - o.lr as f64 * o.weight_decay as f64) as f32);
    let step = S::splat((-(o.lr as f64) / c1) as f32);
    let (inv2, eps) = (S::splat((1.0 / c2.sqrt()) as f32), S::splat(o.eps));
    let mut changed = 0;
    let mut i = 0;
    let mut before = [0f32; 16];
    while i < len {
        let n = S::LANES.min(len - i);
        let gv = S::mul(S::load_n(g.add(i), n), gs);
        let mv = S::fma(b1, S::load_n(m.add(i), n), S::mul(a1, gv));
        let vv = S::fma(b2, S::load_n(v.add(i), n), S::mul(a2, S::mul(gv, gv)));
        S::store_n(m.add(i), mv, n);
        S::store_n(v.add(i), vv, n);
        let wv = S::load_n(w.add(i), n);
        S::store(before.as_mut_ptr(), wv);
        let den = S::fma(S::sqrt(vv), inv2, eps);
        let new = S::fma(step, S::div(mv, den), S::mul(wv, decay));
        S::store_n(w.add(i), new, n);
        for j in 0..n {
            changed += u64::from(before[j] != *w.add(i + j));
        }
        i += n;
    }
    changed
}
simd_fn! { unsafe fn step_kernel(w: *mut f32, g: *const f32, m: *mut f32, v: *mut f32, len: usize, o: AdamW) -> u64 = step_impl }

pub fn step(cpu: &Cpu, w: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32], len: usize, o: AdamW) -> u64 {
    let (wp, mp, vp) = (Shared(w.as_mut_ptr()), Shared(m.as_mut_ptr()), Shared(v.as_mut_ptr()));
    let changed = AtomicU64::new(0);
    cpu.pool.run_ranges(len, 1 << 14, |a, b| {
        // SAFETY: a..b is this task's own.
        let n = unsafe { step_kernel(wp.at(a), g[a..].as_ptr(), mp.at(a), vp.at(a), b - a, o) };
        changed.fetch_add(n, Relaxed);
    });
    changed.into_inner()
}

pub fn norm_squared(cpu: &Cpu, x: &[f32], len: usize) -> (f64, u64) {
    // Fixed blocks, added in order: the same for any number of threads.
    const BLOCK: usize = 1 << 14;
    let blocks = len.div_ceil(BLOCK);
    let mut parts = vec![(0f64, 0u64); blocks];
    let pp = Shared(parts.as_mut_ptr());
    cpu.pool.run(blocks, |t| {
        let (mut s, mut bad) = (0f64, 0u64);
        for part in x[t * BLOCK..len.min((t + 1) * BLOCK)].chunks(64) {
            let mut lanes = [0f64; 8];
            for (i, &v) in part.iter().enumerate() {
                bad += u64::from(!v.is_finite());
                lanes[i % 8] += v as f64 * v as f64;
            }
            s += lanes.iter().sum::<f64>();
        }
        // SAFETY: part t is this task's own.
        unsafe { *pp.at(t) = (s, bad) };
    });
    parts.iter().fold((0.0, 0), |(s, b), (ps, pb)| (s + ps, b + pb))
}
