//! Dequantisation against the `gguf` package's, bit for bit, and the 16-bit conversions against arithmetic.

use hone_engine::formats::{bf16_to_f32, dequantize_into, f16_to_f32, f32_to_bf16, f32_to_f16, Dtype};

use crate::support::fixture;

#[test]
fn every_type_equals_the_gguf_package() {
    for dtype in Dtype::ALL.into_iter().filter(|&d| d != Dtype::F32) {
        let file = std::fs::read(fixture(&format!("gguf/blocks/{}.bin", dtype.name()))).unwrap();
        let count = u32::from_le_bytes(file[..4].try_into().unwrap()) as usize;
        let (blocks, expected) = file[4..].split_at(count * dtype.block_bytes());
        assert_eq!(expected.len(), count * dtype.block_len() * 4, "{}", dtype.name());
        let mut out = vec![f32::NAN; count * dtype.block_len()];
        dequantize_into(dtype, blocks, &mut out);
        for (i, (got, want)) in out.iter().zip(expected.as_chunks::<4>().0).enumerate() {
            let want = f32::from_le_bytes(*want);
            assert!(got.to_bits() == want.to_bits(), "{} weight {i}: {got} instead of {want}", dtype.name());
        }
    }
}

#[test]
fn instructions_of_the_caller_do_not_change_the_result() {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn wide(dtype: Dtype, bytes: &[u8], out: &mut [f32]) {
            dequantize_into(dtype, bytes, out);
        }
        let mut state = 1u32;
        for dtype in Dtype::ALL {
            let bytes: Vec<u8> = (0..dtype.tensor_bytes(&[1024]).unwrap())
                .map(|_| {
                    state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                    (state >> 24) as u8
                })
                .collect();
            let (mut plain, mut fast) = (vec![0.0; 1024], vec![0.0; 1024]);
            dequantize_into(dtype, &bytes, &mut plain);
            // SAFETY: the features were detected above.
            unsafe { wide(dtype, &bytes, &mut fast) };
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(plain.iter().zip(&fast).all(same), "{}", dtype.name());
        }
    }
}

#[test]
fn surplus_input_and_output_are_left_alone() {
    let mut out = [7.0f32; 40];
    dequantize_into(Dtype::Q8_0, &[0u8; 34 + 20], &mut out);
    assert_eq!(out[..32], [0.0; 32]);
    assert_eq!(out[32..], [7.0; 8]);
    dequantize_into(Dtype::Q8_0, &[1u8; 10], &mut out);
    assert_eq!(out[..32], [0.0; 32]);
}

#[test]
fn all_halves_convert_exactly_and_back() {
    for bits in 0..=u16::MAX {
        let (exponent, fraction) = ((bits >> 10) & 31, (bits & 1023) as f64);
        let magnitude = match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            e => (1.0 + fraction / 1024.0) * 2f64.powi(e as i32 - 15),
        };
        let expected = if bits >> 15 == 1 { -magnitude } else { magnitude } as f32;
        let value = f16_to_f32(bits);
        if expected.is_nan() {
            assert!(value.is_nan() && f16_to_f32(f32_to_f16(value)).is_nan());
            continue;
        }
        assert_eq!(value.to_bits(), expected.to_bits(), "{bits:#06x}");
        assert_eq!(f32_to_f16(value), bits, "{bits:#06x}");
    }
    for bits in 0..=u16::MAX {
        let value = bf16_to_f32(bits);
        assert_eq!(value.to_bits(), (bits as u32) << 16);
        if value.is_nan() {
            assert!(bf16_to_f32(f32_to_bf16(value)).is_nan());
        } else {
            assert_eq!(f32_to_bf16(value), bits);
        }
    }
}

/// Halfway cases, and one step to either side of them, for every pair of neighbours.
#[test]
fn rounding_to_16_bits_is_to_nearest_even() {
    let check = |low: f32, high: f32, low_bits: u16, convert: fn(f32) -> u16| {
        let middle = ((low as f64 + high as f64) / 2.0) as f32;
        let even = low_bits + (low_bits & 1);
        assert_eq!(convert(middle), even, "{middle:e}");
        assert_eq!(convert(-middle), even | 0x8000);
        assert_eq!(convert(middle.next_down()), low_bits, "{middle:e}");
        assert_eq!(convert(middle.next_up()), low_bits + 1, "{middle:e}");
    };
    for bits in 0..0x7bffu16 {
        check(f16_to_f32(bits), f16_to_f32(bits + 1), bits, f32_to_f16);
    }
    // bfloat16: skip the last one, whose upper neighbour is infinity, and odd strides keep the test short.
    for bits in (0..0x7f7fu16).step_by(7) {
        check(bf16_to_f32(bits), bf16_to_f32(bits + 1), bits, f32_to_bf16);
    }
    for (value, bits) in [(65519.0, 0x7bff), (65520.0, 0x7c00), (f32::MAX, 0x7c00), (f32::INFINITY, 0x7c00)] {
        assert_eq!(f32_to_f16(value), bits, "{value}");
        assert_eq!(f32_to_f16(-value), bits | 0x8000);
    }
    assert_eq!(f32_to_f16(f32::from_bits(1)), 0);
    assert_eq!(f32_to_bf16(f32::MAX), 0x7f80);
}

#[test]
fn sizes_follow_from_blocks() {
    assert_eq!(Dtype::Q4_1.tensor_bytes(&[576]), Some(576 / 32 * 20));
    assert_eq!(Dtype::BF16.tensor_bytes(&[5]), Some(10));
    assert_eq!(Dtype::Q6K.tensor_bytes(&[3, 512]), Some(3 * 2 * 210));
    assert_eq!(Dtype::Q6K.tensor_bytes(&[3, 500]), None, "rows must be whole blocks");
    assert_eq!(Dtype::Q4_0.tensor_bytes(&[]), None);
    assert_eq!(Dtype::F32.tensor_bytes(&[]), Some(4), "a scalar");
    assert_eq!(Dtype::F32.tensor_bytes(&[usize::MAX, 2]), None);
    assert_eq!(Dtype::F32.tensor_bytes(&[usize::MAX]), None);
}
