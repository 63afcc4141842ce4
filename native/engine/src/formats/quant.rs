//! From stored weights to f32: ggml's quantised blocks and the 16-bit float types, and back to 16 bits for writing.
//!
//! The loops are plain Rust over fixed-size arrays, inlined into the caller, so that LLVM vectorises them with whatever
//! instructions the caller enabled (`#[target_feature]`); their exact form matters (measured: 3 to 8 times). Products and
//! sums are never fused, so the results equal the `gguf` package's bit for bit. Layouts: ggml's `ggml-common.h`
//! (`block_q4_0` and so on).

use super::Dtype;

/// IEEE half to single, exact; written without branches so that it vectorises.
#[inline(always)]
pub fn f16_to_f32(half: u16) -> f32 {
    let sign = ((half & 0x8000) as u32) << 16;
    let shifted = ((half & 0x7fff) as u32) << 13;
    let exponent = shifted & 0x0f80_0000;
    let normal = shifted + (112 << 23);
    let special = shifted + (224 << 23);
    // A subnormal half is m * 2^-24: give it the exponent of 2^-14 and take the implied one away again.
    let subnormal = (f32::from_bits(shifted + (113 << 23)) - f32::from_bits(113 << 23)).to_bits();
    let magnitude = if exponent == 0 {
        subnormal
    } else if exponent == 0x0f80_0000 {
        special
    } else {
        normal
    };
    f32::from_bits(sign | magnitude)
}

/// Single to IEEE half, round to nearest even; too large becomes infinity, NaN stays NaN.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00
    } else if magnitude >= 0x4780_0000 {
        0x7c00 // 2^16 and above; what rounds up to it carries into the exponent below
    } else if magnitude < 0x3880_0000 {
        // Below 2^-14: adding 0.5 leaves the half's subnormal bits, correctly rounded, at the bottom of the sum.
        ((f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits()) as u16
    } else {
        let odd = (magnitude >> 13) & 1;
        ((magnitude - (112 << 23) + 0xfff + odd) >> 13) as u16
    };
    sign | half
}

/// bfloat16 to single, exact.
#[inline(always)]
pub fn bf16_to_f32(half: u16) -> f32 {
    f32::from_bits((half as u32) << 16)
}

/// Single to bfloat16, round to nearest even; NaN stays NaN.
#[inline(always)]
pub fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16;
    let quiet_nan = ((bits >> 16) | 0x40) as u16;
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        quiet_nan
    } else {
        rounded
    }
}

/// A block's scale. The rare kinds of half are converted out of line: that the loop over blocks may call a function
/// keeps LLVM from vectorising across blocks, with gathers, where vectorising within a block is many times faster.
#[inline(always)]
fn half_at(block: &[u8], at: usize) -> f32 {
    let half = u16::from_le_bytes([block[at], block[at + 1]]);
    let exponent = half & 0x7c00;
    if exponent == 0 || exponent == 0x7c00 {
        return rare_half(half);
    }
    let sign = ((half & 0x8000) as u32) << 16;
    f32::from_bits(sign | ((((half & 0x7fff) as u32) << 13) + (112 << 23)))
}

/// Factors of 32 weights with two scales. Loops over 32 weights vectorise; loops over 16 are unrolled first and do not.
#[inline(always)]
fn two_of_16(first: f32, second: f32) -> [f32; 32] {
    let mut factors = [first; 32];
    factors[16..].fill(second);
    factors
}

/// Zero, subnormal, infinite or not a number.
#[cold]
#[inline(never)]
fn rare_half(half: u16) -> f32 {
    f16_to_f32(half)
}

/// Runs an expansion over all blocks. A macro, because a function passed as a value is not inlined for certain, and what
/// is not inlined does not get the caller's instructions.
macro_rules! each_block {
    ($bytes:expr, $out:expr, $expand:expr) => {{
        for (block, place) in $bytes.as_chunks().0.iter().zip($out.as_chunks_mut().0) {
            $expand(block, place);
        }
    }};
}

/// Expands whole blocks: `bytes` holds `out.len() / block_len` blocks, surplus bytes or places are left alone.
#[inline(always)]
pub fn dequantize_into(dtype: Dtype, bytes: &[u8], out: &mut [f32]) {
    match dtype {
        Dtype::F32 => each_block!(bytes, out, f32_),
        Dtype::F16 => each_block!(bytes, out, f16_),
        Dtype::BF16 => each_block!(bytes, out, bf16_),
        Dtype::Q4_0 => each_block!(bytes, out, q4_0),
        Dtype::Q4_1 => each_block!(bytes, out, q4_1),
        Dtype::Q5_0 => each_block!(bytes, out, q5_0),
        Dtype::Q5_1 => each_block!(bytes, out, q5_1),
        Dtype::Q8_0 => each_block!(bytes, out, q8_0),
        Dtype::Q2K => each_block!(bytes, out, q2_k),
        Dtype::Q3K => each_block!(bytes, out, q3_k),
        Dtype::Q4K => each_block!(bytes, out, q4_k),
        Dtype::Q5K => each_block!(bytes, out, q5_k),
        Dtype::Q6K => each_block!(bytes, out, q6_k),
    }
}

#[inline(always)]
fn f32_(bytes: &[u8; 4], out: &mut [f32; 1]) {
    out[0] = f32::from_le_bytes(*bytes);
}

#[inline(always)]
fn f16_(bytes: &[u8; 2], out: &mut [f32; 1]) {
    out[0] = f16_to_f32(u16::from_le_bytes(*bytes));
}

#[inline(always)]
fn bf16_(bytes: &[u8; 2], out: &mut [f32; 1]) {
    out[0] = bf16_to_f32(u16::from_le_bytes(*bytes));
}

/// `[d f16][16 bytes: low nibbles are weights 0..16, high nibbles 16..32]`, w = d (q - 8).
#[inline(always)]
fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for i in 0..16 {
        let q = block[2 + i];
        out[i] = d * ((q & 15) as i32 - 8) as f32;
        out[16 + i] = d * ((q >> 4) as i32 - 8) as f32;
    }
}

/// `[d f16][m f16][16 bytes]`, w = d q + m.
#[inline(always)]
fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    for i in 0..16 {
        let q = block[4 + i];
        out[i] = d * (q & 15) as i32 as f32 + m;
        out[16 + i] = d * (q >> 4) as i32 as f32 + m;
    }
}

/// `[d f16][fifth bits u32][16 bytes]`, w = d (q - 16).
#[inline(always)]
fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    let high = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
    for i in 0..16 {
        let q = block[6 + i] as u32;
        let low = (q & 15) | ((high >> i) & 1) << 4;
        let upper = (q >> 4) | ((high >> (16 + i)) & 1) << 4;
        out[i] = d * (low as i32 - 16) as f32;
        out[16 + i] = d * (upper as i32 - 16) as f32;
    }
}

/// `[d f16][m f16][fifth bits u32][16 bytes]`, w = d q + m.
#[inline(always)]
fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    let high = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
    for i in 0..16 {
        let q = block[8 + i] as u32;
        let low = (q & 15) | ((high >> i) & 1) << 4;
        let upper = (q >> 4) | ((high >> (16 + i)) & 1) << 4;
        out[i] = d * low as i32 as f32 + m;
        out[16 + i] = d * upper as i32 as f32 + m;
    }
}

/// `[d f16][32 x i8]`, w = d q.
#[inline(always)]
fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for i in 0..32 {
        out[i] = d * (block[2 + i] as i8) as f32;
    }
}

/// `[16 x (scale, min) nibbles][64 bytes of 2-bit codes][d f16][dmin f16]`, 16 weights a scale, w = d s q - dmin m.
#[inline(always)]
fn q2_k(block: &[u8; 84], out: &mut [f32; 256]) {
    let (d, dmin) = (half_at(block, 80), half_at(block, 82));
    // 128 weights share 32 bytes: four 2-bit planes of 32 weights, two scales each.
    for half in 0..2 {
        let codes = &block[16 + half * 32..][..32];
        for plane in 0..4 {
            let (first, second) = (block[half * 8 + plane * 2], block[half * 8 + plane * 2 + 1]);
            let scale = two_of_16(d * (first & 15) as f32, d * (second & 15) as f32);
            let min = two_of_16(dmin * (first >> 4) as f32, dmin * (second >> 4) as f32);
            let place = &mut out[half * 128 + plane * 32..][..32];
            for i in 0..32 {
                place[i] = scale[i] * (codes[i] >> (2 * plane) & 3) as i32 as f32 - min[i];
            }
        }
    }
}

/// `[third bits 32 bytes][64 bytes of 2-bit codes][16 scales of 6 bits][d f16]`, w = d (s - 32) (q - 4 unless bit).
#[inline(always)]
fn q3_k(block: &[u8; 110], out: &mut [f32; 256]) {
    let d = half_at(block, 108);
    let packed = &block[96..108];
    let scale_of = |group: usize| {
        let low = packed[group % 8] >> (4 * (group / 8)) & 15;
        let high = packed[8 + group % 4] >> (2 * (group / 4)) & 3;
        d * ((low | high << 4) as i32 - 32) as f32
    };
    let bits = &block[..32];
    for half in 0..2 {
        let codes = &block[32 + half * 32..][..32];
        for plane in 0..4 {
            let group = half * 8 + plane * 2;
            let scale = two_of_16(scale_of(group), scale_of(group + 1));
            let place = &mut out[half * 128 + plane * 32..][..32];
            for i in 0..32 {
                let low = codes[i] >> (2 * plane) & 3;
                let high = bits[i] >> (half * 4 + plane) & 1;
                place[i] = scale[i] * ((low | high << 2) as i32 - 4) as f32;
            }
        }
    }
}

/// Scale and min `group` (of 8) of the 12 bytes Q4_K and Q5_K share, 6 bits each.
#[inline(always)]
fn scale_and_min(packed: &[u8], group: usize) -> (f32, f32) {
    let (scale, min) = if group < 4 {
        (packed[group] & 63, packed[group + 4] & 63)
    } else {
        let low = packed[group + 4];
        (low & 15 | (packed[group - 4] >> 6) << 4, low >> 4 | (packed[group] >> 6) << 4)
    };
    (scale as f32, min as f32)
}

/// `[d f16][dmin f16][12 bytes: 8 scales, 8 mins][128 bytes of nibbles]`, 32 weights a scale, w = d s q - dmin m.
#[inline(always)]
fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    let packed = &block[4..16];
    for pair in 0..4 {
        let codes = &block[16 + pair * 32..][..32];
        let (s, m) = scale_and_min(packed, 2 * pair);
        let (scale, min) = (d * s, dmin * m);
        let place = &mut out[pair * 64..][..32];
        for i in 0..32 {
            place[i] = scale * (codes[i] & 15) as i32 as f32 - min;
        }
        let (s, m) = scale_and_min(packed, 2 * pair + 1);
        let (scale, min) = (d * s, dmin * m);
        let place = &mut out[pair * 64 + 32..][..32];
        for i in 0..32 {
            place[i] = scale * (codes[i] >> 4) as i32 as f32 - min;
        }
    }
}

/// `[d f16][dmin f16][12 bytes: 8 scales, 8 mins][fifth bits 32 bytes][128 bytes of nibbles]`, w = d s q - dmin m.
#[inline(always)]
fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    let packed = &block[4..16];
    let bits = &block[16..48];
    for group in 0..8 {
        let (s, m) = scale_and_min(packed, group);
        let (scale, min) = (d * s, dmin * m);
        let codes = &block[48 + group / 2 * 32..][..32];
        let place = &mut out[group * 32..][..32];
        for i in 0..32 {
            let low = codes[i] >> (4 * (group % 2)) & 15;
            let q = low | (bits[i] >> group & 1) << 4;
            place[i] = scale * q as i32 as f32 - min;
        }
    }
}

/// `[128 bytes of low nibbles][64 bytes of 2 high bits][16 x i8 scales][d f16]`, 16 weights a scale, w = d s (q - 32).
#[inline(always)]
fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let d = half_at(block, 208);
    // 128 weights at a time: quarter k (32 weights) has its low nibbles in 32 of 64 bytes, its high bits in plane k.
    for half in 0..2 {
        let high = &block[128 + half * 32..][..32];
        for quarter in 0..4 {
            let low = &block[half * 64 + quarter % 2 * 32..][..32];
            let group = 192 + half * 8 + quarter * 2;
            let scale = two_of_16(d * (block[group] as i8) as f32, d * (block[group + 1] as i8) as f32);
            let place = &mut out[half * 128 + quarter * 32..][..32];
            for i in 0..32 {
                let q = low[i] >> (4 * (quarter / 2)) & 15 | (high[i] >> (2 * quarter) & 3) << 4;
                place[i] = scale[i] * (q as i32 - 32) as f32;
            }
        }
    }
}

/// Index of the first block that expands to a NaN or infinity. Codes are small integers, so finite scales (at most
/// 65504) make finite weights.
pub(super) fn first_non_finite_block(dtype: Dtype, bytes: &[u8]) -> Option<usize> {
    let halves: &[usize] = match dtype {
        Dtype::F32 => return scan(bytes, |b: &[u8; 4]| u32::from_le_bytes(*b) & 0x7f80_0000 == 0x7f80_0000),
        Dtype::BF16 => return scan(bytes, |b: &[u8; 2]| u16::from_le_bytes(*b) & 0x7f80 == 0x7f80),
        Dtype::F16 => return scan(bytes, |b: &[u8; 2]| u16::from_le_bytes(*b) & 0x7c00 == 0x7c00),
        Dtype::Q4_0 | Dtype::Q5_0 | Dtype::Q8_0 => &[0],
        Dtype::Q4_1 | Dtype::Q5_1 | Dtype::Q4K | Dtype::Q5K => &[0, 2],
        Dtype::Q2K => &[80, 82],
        Dtype::Q3K => &[108],
        Dtype::Q6K => &[208],
    };
    bytes
        .chunks_exact(dtype.block_bytes())
        .position(|block| halves.iter().any(|&at| u16::from_le_bytes([block[at], block[at + 1]]) & 0x7c00 == 0x7c00))
}

/// First chunk for which `bad` holds; looks at runs of chunks without a branch in between.
fn scan<const BYTES: usize>(bytes: &[u8], bad: impl Fn(&[u8; BYTES]) -> bool) -> Option<usize> {
    const RUN: usize = 1024;
    let (chunks, _) = bytes.as_chunks::<BYTES>();
    for (run, part) in chunks.chunks(RUN).enumerate() {
        if part.iter().fold(false, |any, chunk| any | bad(chunk)) {
            return part.iter().position(&bad).map(|at| run * RUN + at);
        }
    }
    None
}
