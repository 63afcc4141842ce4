//! y += a·x, and dropout with a counter-based mask.

use super::{Cpu, Shared};

pub fn axpy(cpu: &Cpu, a: f32, x: &[f32], len: usize, y: &mut [f32]) {
    let yp = Shared(y.as_mut_ptr());
    cpu.pool.run_ranges(len, 1 << 14, |s, e| {
        // SAFETY: s..e is this task's own.
        let y = unsafe { std::slice::from_raw_parts_mut(yp.at(s), e - s) };
        y.iter_mut().zip(&x[s..e]).for_each(|(y, x)| *y += a * x);
    });
}

/// SplitMix64 of (seed, index): the mask can be made again in backward without being stored.
#[inline]
fn hash(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub fn dropout(cpu: &Cpu, x: &[f32], len: usize, p: f32, seed: u64, y: &mut [f32]) {
    let (keep, scale) = (((1.0 - p as f64) * u32::MAX as f64) as u64, 1.0 / (1.0 - p));
    let yp = Shared(y.as_mut_ptr());
    cpu.pool.run_ranges(len, 1 << 14, |s, e| {
        // SAFETY: s..e is this task's own.
        let y = unsafe { std::slice::from_raw_parts_mut(yp.at(s), e - s) };
        for (i, y) in y.iter_mut().enumerate() {
            let at = s + i;
            *y = if hash(seed, at as u64) >> 32 <= keep { x[at] * scale } else { 0.0 };
        }
    });
}
