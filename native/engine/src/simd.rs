//! One small vector interface over AVX-512, AVX2+FMA, NEON and plain Rust, chosen at run time.
//!
//! A kernel is written once as `#[inline(always)] unsafe fn k<S: Simd>(…)`; `simd_fn!` makes a safe-to-link wrapper that
//! compiles it for every instruction set and calls the best one. The binary therefore runs on any x86-64-v2 or aarch64 machine.
//!
//! Safety: every pointer passed to `load`/`store` must be valid for `LANES` (or `n`) floats; no alignment is needed.

use std::sync::OnceLock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Avx512,
    Avx2,
    Neon,
    Scalar,
}

/// The best instruction set of this processor. `HONE_SIMD=avx2|scalar` lowers it (to compare, or to work around a bad machine).
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let wish = std::env::var("HONE_SIMD").unwrap_or_default();
        if wish == "scalar" {
            return Level::Scalar;
        }
        #[cfg(target_arch = "x86_64")]
        {
            if wish != "avx2"
                && std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512dq")
            {
                return Level::Avx512;
            }
            if std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("fma")
                && std::arch::is_x86_feature_detected!("f16c")
            {
                return Level::Avx2;
            }
        }
        if cfg!(target_arch = "aarch64") {
            return Level::Neon;
        }
        Level::Scalar
    })
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Avx512 => "avx512",
            Level::Avx2 => "avx2",
            Level::Neon => "neon",
            Level::Scalar => "scalar",
        }
    }
}

#[expect(clippy::missing_safety_doc, reason = "the module header states it once for all of them")]
pub trait Simd: Copy + 'static {
    const LANES: usize;
    type V: Copy;
    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn load(p: *const f32) -> Self::V;
    /// First `n` lanes from `p`, the rest 0.
    unsafe fn load_n(p: *const f32, n: usize) -> Self::V;
    unsafe fn store(p: *mut f32, v: Self::V);
    unsafe fn store_n(p: *mut f32, v: Self::V, n: usize);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sqrt(a: Self::V) -> Self::V;
    /// a·b + c
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    unsafe fn round(a: Self::V) -> Self::V;
    /// 2^a for integral a in [-126, 127].
    unsafe fn pow2i(a: Self::V) -> Self::V;
    unsafe fn sum(a: Self::V) -> f32;
    unsafe fn hmax(a: Self::V) -> f32;

    #[inline(always)]
    unsafe fn zero() -> Self::V {
        Self::splat(0.0)
    }

    /// e^x to 2 ulp over [-87, 88]; beyond that it stays at the end's value, so it never becomes denormal or infinite. NaN
    /// stays NaN. Cephes' single-precision range reduction and polynomial.
    #[inline(always)]
    unsafe fn exp(x: Self::V) -> Self::V {
        // In this order `max` and `min` give their second operand when it is NaN.
        let x = Self::min(Self::splat(88.0), Self::max(Self::splat(-87.0), x));
        let n = Self::round(Self::mul(x, Self::splat(std::f32::consts::LOG2_E)));
        let r = Self::fma(n, Self::splat(-0.693_359_4), x);
        let r = Self::fma(n, Self::splat(2.121_944_4e-4), r);
        let mut p = Self::splat(1.987_569_1e-4);
        for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            p = Self::fma(p, r, Self::splat(c));
        }
        let p = Self::fma(p, Self::mul(r, r), Self::add(r, Self::splat(1.0)));
        Self::mul(p, Self::pow2i(n))
    }

    /// 1 / (1 + e^-x)
    #[inline(always)]
    unsafe fn sigmoid(x: Self::V) -> Self::V {
        let one = Self::splat(1.0);
        Self::div(one, Self::add(one, Self::exp(Self::sub(Self::zero(), x))))
    }

    /// tanh x = 2·sigmoid(2x) − 1
    #[inline(always)]
    unsafe fn tanh(x: Self::V) -> Self::V {
        let s = Self::sigmoid(Self::add(x, x));
        Self::sub(Self::add(s, s), Self::splat(1.0))
    }
}

#[derive(Clone, Copy)]
pub struct Scalar;

impl Simd for Scalar {
    const LANES: usize = 4;
    type V = [f32; 4];
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; 4]
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::V {
        p.cast::<[f32; 4]>().read_unaligned()
    }
    #[inline(always)]
    unsafe fn load_n(p: *const f32, n: usize) -> Self::V {
        std::array::from_fn(|i| if i < n { *p.add(i) } else { 0.0 })
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::V) {
        p.cast::<[f32; 4]>().write_unaligned(v);
    }
    #[inline(always)]
    unsafe fn store_n(p: *mut f32, v: Self::V, n: usize) {
        for (i, x) in v.iter().enumerate().take(n) {
            *p.add(i) = *x;
        }
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] - b[i])
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] / b[i])
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    unsafe fn sqrt(a: Self::V) -> Self::V {
        a.map(f32::sqrt)
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] * b[i] + c[i])
    }
    #[inline(always)]
    unsafe fn round(a: Self::V) -> Self::V {
        a.map(f32::round_ties_even)
    }
    #[inline(always)]
    unsafe fn pow2i(a: Self::V) -> Self::V {
        a.map(|x| f32::from_bits(((x as i32 + 127) as u32) << 23))
    }
    #[inline(always)]
    unsafe fn sum(a: Self::V) -> f32 {
        (a[0] + a[2]) + (a[1] + a[3])
    }
    #[inline(always)]
    unsafe fn hmax(a: Self::V) -> f32 {
        a[0].max(a[1]).max(a[2].max(a[3]))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Simd;
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub struct Avx512;

    #[inline(always)]
    fn mask16(n: usize) -> u16 {
        if n >= 16 {
            u16::MAX
        } else {
            (1u16 << n) - 1
        }
    }

    impl Simd for Avx512 {
        const LANES: usize = 16;
        type V = __m512;
        #[inline(always)]
        unsafe fn splat(x: f32) -> __m512 {
            _mm512_set1_ps(x)
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m512 {
            _mm512_loadu_ps(p)
        }
        #[inline(always)]
        unsafe fn load_n(p: *const f32, n: usize) -> __m512 {
            _mm512_maskz_loadu_ps(mask16(n), p)
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m512) {
            _mm512_storeu_ps(p, v)
        }
        #[inline(always)]
        unsafe fn store_n(p: *mut f32, v: __m512, n: usize) {
            _mm512_mask_storeu_ps(p, mask16(n), v)
        }
        #[inline(always)]
        unsafe fn add(a: __m512, b: __m512) -> __m512 {
            _mm512_add_ps(a, b)
        }
        #[inline(always)]
        unsafe fn sub(a: __m512, b: __m512) -> __m512 {
            _mm512_sub_ps(a, b)
        }
        #[inline(always)]
        unsafe fn mul(a: __m512, b: __m512) -> __m512 {
            _mm512_mul_ps(a, b)
        }
        #[inline(always)]
        unsafe fn div(a: __m512, b: __m512) -> __m512 {
            _mm512_div_ps(a, b)
        }
        #[inline(always)]
        unsafe fn max(a: __m512, b: __m512) -> __m512 {
            _mm512_max_ps(a, b)
        }
        #[inline(always)]
        unsafe fn min(a: __m512, b: __m512) -> __m512 {
            _mm512_min_ps(a, b)
        }
        #[inline(always)]
        unsafe fn sqrt(a: __m512) -> __m512 {
            _mm512_sqrt_ps(a)
        }
        #[inline(always)]
        unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
            _mm512_fmadd_ps(a, b, c)
        }
        #[inline(always)]
        unsafe fn round(a: __m512) -> __m512 {
            _mm512_roundscale_ps::<0x08>(a)
        }
        #[inline(always)]
        unsafe fn pow2i(a: __m512) -> __m512 {
            let i = _mm512_add_epi32(_mm512_cvtps_epi32(a), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(i))
        }
        #[inline(always)]
        unsafe fn sum(a: __m512) -> f32 {
            _mm512_reduce_add_ps(a)
        }
        #[inline(always)]
        unsafe fn hmax(a: __m512) -> f32 {
            _mm512_reduce_max_ps(a)
        }
    }

    #[derive(Clone, Copy)]
    pub struct Avx2;

    #[inline(always)]
    unsafe fn mask8(n: usize) -> __m256i {
        let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        _mm256_cmpgt_epi32(_mm256_set1_epi32(n.min(8) as i32), lane)
    }

    impl Simd for Avx2 {
        const LANES: usize = 8;
        type V = __m256;
        #[inline(always)]
        unsafe fn splat(x: f32) -> __m256 {
            _mm256_set1_ps(x)
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m256 {
            _mm256_loadu_ps(p)
        }
        #[inline(always)]
        unsafe fn load_n(p: *const f32, n: usize) -> __m256 {
            _mm256_maskload_ps(p, mask8(n))
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m256) {
            _mm256_storeu_ps(p, v)
        }
        #[inline(always)]
        unsafe fn store_n(p: *mut f32, v: __m256, n: usize) {
            _mm256_maskstore_ps(p, mask8(n), v)
        }
        #[inline(always)]
        unsafe fn add(a: __m256, b: __m256) -> __m256 {
            _mm256_add_ps(a, b)
        }
        #[inline(always)]
        unsafe fn sub(a: __m256, b: __m256) -> __m256 {
            _mm256_sub_ps(a, b)
        }
        #[inline(always)]
        unsafe fn mul(a: __m256, b: __m256) -> __m256 {
            _mm256_mul_ps(a, b)
        }
        #[inline(always)]
        unsafe fn div(a: __m256, b: __m256) -> __m256 {
            _mm256_div_ps(a, b)
        }
        #[inline(always)]
        unsafe fn max(a: __m256, b: __m256) -> __m256 {
            _mm256_max_ps(a, b)
        }
        #[inline(always)]
        unsafe fn min(a: __m256, b: __m256) -> __m256 {
            _mm256_min_ps(a, b)
        }
        #[inline(always)]
        unsafe fn sqrt(a: __m256) -> __m256 {
            _mm256_sqrt_ps(a)
        }
        #[inline(always)]
        unsafe fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
            _mm256_fmadd_ps(a, b, c)
        }
        #[inline(always)]
        unsafe fn round(a: __m256) -> __m256 {
            _mm256_round_ps::<0x08>(a)
        }
        #[inline(always)]
        unsafe fn pow2i(a: __m256) -> __m256 {
            let i = _mm256_add_epi32(_mm256_cvtps_epi32(a), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(i))
        }
        #[inline(always)]
        unsafe fn sum(a: __m256) -> f32 {
            let s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let s = _mm_add_ps(s, _mm_movehl_ps(s, s));
            _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps::<1>(s, s)))
        }
        #[inline(always)]
        unsafe fn hmax(a: __m256) -> f32 {
            let s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let s = _mm_max_ps(s, _mm_movehl_ps(s, s));
            _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps::<1>(s, s)))
        }
    }
}
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Simd;
    use std::arch::aarch64::*;

    #[derive(Clone, Copy)]
    pub struct Neon;

    impl Simd for Neon {
        const LANES: usize = 4;
        type V = float32x4_t;
        #[inline(always)]
        unsafe fn splat(x: f32) -> float32x4_t {
            vdupq_n_f32(x)
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> float32x4_t {
            vld1q_f32(p)
        }
        #[inline(always)]
        unsafe fn load_n(p: *const f32, n: usize) -> float32x4_t {
            let mut a = [0f32; 4];
            std::ptr::copy_nonoverlapping(p, a.as_mut_ptr(), n.min(4));
            vld1q_f32(a.as_ptr())
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: float32x4_t) {
            vst1q_f32(p, v)
        }
        #[inline(always)]
        unsafe fn store_n(p: *mut f32, v: float32x4_t, n: usize) {
            let mut a = [0f32; 4];
            vst1q_f32(a.as_mut_ptr(), v);
            std::ptr::copy_nonoverlapping(a.as_ptr(), p, n.min(4));
        }
        #[inline(always)]
        unsafe fn add(a: float32x4_t, b: float32x4_t) -> float32x4_t {
            vaddq_f32(a, b)
        }
        #[inline(always)]
        unsafe fn sub(a: float32x4_t, b: float32x4_t) -> float32x4_t {
            vsubq_f32(a, b)
        }
        #[inline(always)]
        unsafe fn mul(a: float32x4_t, b: float32x4_t) -> float32x4_t {
            vmulq_f32(a, b)
        }
        #[inline(always)]
        unsafe fn div(a: float32x4_t, b: float32x4_t) -> float32x4_t {
            vdivq_f32(a, b)
        }
        #[inline(always)]
        unsafe fn max(a: float32x4_t, b: float32x4_t) -> float32x4_t {
            vmaxq_f32(a, b)
        }
        #[inline(always)]
        unsafe fn min(a: float32x4_t, b: float32x4_t) -> float32x4_t {
            vminq_f32(a, b)
        }
        #[inline(always)]
        unsafe fn sqrt(a: float32x4_t) -> float32x4_t {
            vsqrtq_f32(a)
        }
        #[inline(always)]
        unsafe fn fma(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
            vfmaq_f32(c, a, b)
        }
        #[inline(always)]
        unsafe fn round(a: float32x4_t) -> float32x4_t {
            vrndnq_f32(a)
        }
        #[inline(always)]
        unsafe fn pow2i(a: float32x4_t) -> float32x4_t {
            let i = vaddq_s32(vcvtnq_s32_f32(a), vdupq_n_s32(127));
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(i))
        }
        #[inline(always)]
        unsafe fn sum(a: float32x4_t) -> f32 {
            vaddvq_f32(a)
        }
        #[inline(always)]
        unsafe fn hmax(a: float32x4_t) -> f32 {
            vmaxvq_f32(a)
        }
    }
}
#[cfg(target_arch = "aarch64")]
pub use arm::Neon;

/// `simd_fn! { pub unsafe fn name(a: T, …) -> R = generic_kernel }` compiles `generic_kernel::<S>` for every instruction
/// set and dispatches. Constant arguments after the type differ by level: `= kernel [12, 6, 6, 4]` gives
/// `kernel::<Avx512, 12>`, `kernel::<Avx2, 6>`, `kernel::<Neon, 6>`, `kernel::<Scalar, 4>`.
#[macro_export]
macro_rules! simd_fn {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $kernel:ident $([$c512:literal, $c2:literal, $cn:literal, $cs:literal])?) => {
        $(#[$meta])*
        $vis unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,bmi1,bmi2")]
            unsafe fn avx512($($arg: $ty),*) $(-> $ret)? {
                $kernel::<$crate::simd::Avx512 $(, $c512)?>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
            unsafe fn avx2($($arg: $ty),*) $(-> $ret)? {
                $kernel::<$crate::simd::Avx2 $(, $c2)?>($($arg),*)
            }
            match $crate::simd::level() {
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx512 => avx512($($arg),*),
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx2 => avx2($($arg),*),
                #[cfg(target_arch = "aarch64")]
                $crate::simd::Level::Neon => $kernel::<$crate::simd::Neon $(, $cn)?>($($arg),*),
                _ => $kernel::<$crate::simd::Scalar $(, $cs)?>($($arg),*),
            }
        }
    };
}
