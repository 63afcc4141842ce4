//! cos and sin of every position: `[positions, head_dim]`, cosines first. Frequencies as in Hugging Face: fp32 angles from
//! fp32 inverse frequencies, so that long contexts round the same way.

use crate::config::Rope;

/// Inverse frequency of every pair, with llama3 or linear scaling applied.
fn inverse_frequencies(rope: &Rope, head_dim: usize) -> Vec<f32> {
    (0..head_dim / 2)
        .map(|i| {
            let f = 1.0 / rope.theta.powf(2.0 * i as f64 / head_dim as f64) as f32;
            let f = f / rope.linear_factor as f32;
            let Some(s) = rope.llama3 else { return f };
            // Long wavelengths are stretched by `factor`, short ones kept, those between blended.
            let wavelength = 2.0 * std::f32::consts::PI / f;
            let (low, high) =
                (s.original_max_position / s.low_freq_factor, s.original_max_position / s.high_freq_factor);
            if wavelength > low {
                f / s.factor
            } else if wavelength < high {
                f
            } else {
                let smooth = (s.original_max_position / wavelength - s.low_freq_factor)
                    / (s.high_freq_factor - s.low_freq_factor);
                (1.0 - smooth) * f / s.factor + smooth * f
            }
        })
        .collect()
}

pub fn rope_table(rope: &Rope, head_dim: usize, positions: usize) -> Vec<f32> {
    let inv = inverse_frequencies(rope, head_dim);
    let half = head_dim / 2;
    let mut table = vec![0.0; positions * head_dim];
    for (p, row) in table.chunks_exact_mut(head_dim).enumerate() {
        for (i, f) in inv.iter().enumerate() {
            let angle = (p as f32 * f) as f64;
            row[i] = angle.cos() as f32;
            row[half + i] = angle.sin() as f32;
        }
    }
    table
}
