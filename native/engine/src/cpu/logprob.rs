//! Log-probability of a target and entropy of softmax(z/τ), one row of V logits each.
//! With x = z/τ, lse = log Σ e^x, p = e^(x − lse): lp = x_t − lse, H = lse − Σ p·x.
//! Backward: dz_j = (1/τ)·( dlp·(1[j=t] − p_j) − dH·p_j·(log p_j + H) ).

use super::{Cpu, Shared};
use crate::simd::Simd;
use crate::simd_fn;

/// Of one row of logits z, with x = z/τ.
#[derive(Default)]
pub(crate) struct RowStats {
    /// The highest z.
    pub max: f32,
    /// log Σ e^x
    pub lse: f32,
    pub entropy: f32,
}

impl RowStats {
    /// False where some logit is NaN or infinite: one of them always shows in the sums.
    pub fn finite(&self) -> bool {
        self.lse.is_finite() && self.entropy.is_finite()
    }
}

#[inline(always)]
unsafe fn forward_row<S: Simd>(z: *const f32, v: usize, inv: f32, out: &mut RowStats) {
    let l = S::LANES;
    let mut m = S::splat(f32::NEG_INFINITY);
    let mut i = 0;
    while i + l <= v {
        m = S::max(m, S::load(z.add(i)));
        i += l;
    }
    let mut max = S::hmax(m);
    while i < v {
        max = max.max(*z.add(i));
        i += 1;
    }
    let (mv, iv) = (S::splat(max), S::splat(inv));
    let (mut s, mut sx) = (S::zero(), S::zero());
    i = 0;
    while i + l <= v {
        let x = S::mul(S::sub(S::load(z.add(i)), mv), iv);
        let e = S::exp(x);
        s = S::add(s, e);
        sx = S::fma(e, x, sx);
        i += l;
    }
    let (mut sum, mut sumx) = (S::sum(s), S::sum(sx));
    while i < v {
        let x = (*z.add(i) - max) * inv;
        let e = x.exp();
        sum += e;
        sumx += e * x;
        i += 1;
    }
    let log_sum = sum.ln();
    *out = RowStats { max, lse: max * inv + log_sum, entropy: log_sum - sumx / sum };
}
simd_fn! { unsafe fn forward_kernel(z: *const f32, v: usize, inv: f32, out: &mut RowStats) = forward_row }

#[inline(always)]
unsafe fn backward_row<S: Simd>(
    z: *mut f32,
    v: usize,
    inv: f32,
    target: usize,
    lse: f32,
    entropy: f32,
    dlp: f32,
    dh: f32,
) {
    let l = S::LANES;
    let (iv, lv, hv) = (S::splat(inv), S::splat(-lse), S::splat(entropy));
    let (a, b) = (S::splat(-dlp * inv), S::splat(-dh * inv));
    let mut i = 0;
    while i < v {
        let n = l.min(v - i);
        let logp = S::fma(S::load_n(z.add(i), n), iv, lv);
        let p = S::exp(logp);
        S::store_n(z.add(i), S::mul(p, S::fma(b, S::add(logp, hv), a)), n);
        i += n;
    }
    *z.add(target) += dlp * inv;
}
simd_fn! { unsafe fn backward_kernel(z: *mut f32, v: usize, inv: f32, target: usize, lse: f32, entropy: f32, dlp: f32, dh: f32) = backward_row }

/// Used by the sampler as well.
pub(crate) fn row_stats(z: &[f32], inv: f32) -> RowStats {
    let mut out = RowStats::default();
    // SAFETY: reads z only.
    unsafe { forward_kernel(z.as_ptr(), z.len(), inv, &mut out) };
    out
}

pub fn forward(
    cpu: &Cpu,
    logits: &[f32],
    rows: usize,
    vocab: usize,
    targets: &[i32],
    temperature: f32,
    lp: &mut [f32],
    entropy: &mut [f32],
    correct: &mut [f32],
    lse: &mut [f32],
) {
    assert!(logits.len() >= rows * vocab && targets.len() >= rows);
    let inv = 1.0 / temperature;
    let [lpp, ep, cp, sp] = [lp, entropy, correct, lse].map(|b| Shared(b.as_mut_ptr()));
    cpu.pool.run_ranges(rows, (1 << 13) / vocab.max(1) + 1, |a, b| {
        for r in a..b {
            let z = &logits[r * vocab..(r + 1) * vocab];
            let (row, target) = (row_stats(z, inv), z[targets[r] as usize]);
            // SAFETY: row r is this task's own.
            unsafe {
                *sp.at(r) = row.lse;
                *ep.at(r) = row.entropy;
                *cp.at(r) = f32::from(target >= row.max);
                *lpp.at(r) = target * inv - row.lse;
            }
        }
    });
}

pub fn backward(
    cpu: &Cpu,
    logits: &mut [f32],
    rows: usize,
    vocab: usize,
    targets: &[i32],
    temperature: f32,
    lse: &[f32],
    entropy: &[f32],
    dlp: &[f32],
    dh: Option<&[f32]>,
) {
    assert!(logits.len() >= rows * vocab && dlp.len() >= rows);
    let inv = 1.0 / temperature;
    let zp = Shared(logits.as_mut_ptr());
    cpu.pool.run_ranges(rows, (1 << 13) / vocab.max(1) + 1, |a, b| {
        for r in a..b {
            // SAFETY: row r is this task's own.
            unsafe {
                backward_kernel(
                    zp.at(r * vocab),
                    vocab,
                    inv,
                    targets[r] as usize,
                    lse[r],
                    entropy[r],
                    dlp[r],
                    dh.map_or(0.0, |d| d[r]),
                )
            };
        }
    });
}
