//! Rotary position embedding, half-split form (Su et al. 2021, as in Hugging Face): the pair (x_i, x_{i+d/2}) is turned by
//! the angle of its row's position. The inverse turn is the transpose, hence also the backward pass.

use super::{Cpu, Shared};

pub fn rotate(cpu: &Cpu, x: &mut [f32], heads: usize, hd: usize, positions: &[u32], table: &[f32], inverse: bool) {
    let half = hd / 2;
    let width = heads * hd;
    assert!(x.len() >= positions.len() * width);
    let sign = if inverse { -1.0f32 } else { 1.0 };
    let xp = Shared(x.as_mut_ptr());
    cpu.pool.run_ranges(positions.len(), (1 << 13) / width.max(1) + 1, |a, b| {
        for r in a..b {
            let (cos, sin) = table[positions[r] as usize * hd..][..hd].split_at(half);
            // SAFETY: row r is this task's own.
            let row = unsafe { std::slice::from_raw_parts_mut(xp.at(r * width), width) };
            for head in row.chunks_exact_mut(hd) {
                let (lo, hi) = head.split_at_mut(half);
                for i in 0..half {
                    let (p, q, s) = (lo[i], hi[i], sin[i] * sign);
                    lo[i] = p * cos[i] - q * s;
                    hi[i] = q * cos[i] + p * s;
                }
            }
        }
    });
}
