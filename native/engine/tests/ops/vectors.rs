//! The functions of the vector interface against f64, for every instruction set of this machine.

use hone_engine::simd::{Scalar, Simd};

struct Functions {
    name: &'static str,
    map: fn(Kind, &[f32]) -> Vec<f32>,
}

#[derive(Clone, Copy)]
enum Kind {
    Exp,
    Sigmoid,
    Tanh,
}

#[inline(always)]
unsafe fn map<S: Simd>(kind: Kind, x: &[f32]) -> Vec<f32> {
    let mut y = vec![f32::NAN; x.len()];
    for i in (0..x.len()).step_by(S::LANES) {
        let n = S::LANES.min(x.len() - i);
        let v = S::load_n(x[i..].as_ptr(), n);
        let v = match kind {
            Kind::Exp => S::exp(v),
            Kind::Sigmoid => S::sigmoid(v),
            Kind::Tanh => S::tanh(v),
        };
        S::store_n(y[i..].as_mut_ptr(), v, n);
    }
    y
}

fn levels() -> Vec<Functions> {
    let mut all = vec![Functions {
        name: "scalar",
        // SAFETY: plain Rust within the slices.
        map: |k, x| unsafe { map::<Scalar>(k, x) },
    }];
    #[cfg(target_arch = "x86_64")]
    {
        use hone_engine::simd::{Avx2, Avx512};
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn avx2(k: Kind, x: &[f32]) -> Vec<f32> {
            map::<Avx2>(k, x)
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
        unsafe fn avx512(k: Kind, x: &[f32]) -> Vec<f32> {
            map::<Avx512>(k, x)
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features were detected.
            all.push(Functions { name: "avx2", map: |k, x| unsafe { avx2(k, x) } });
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the features were detected.
            all.push(Functions { name: "avx512", map: |k, x| unsafe { avx512(k, x) } });
        }
    }
    #[cfg(target_arch = "aarch64")]
    all.push(Functions {
        name: "neon",
        // SAFETY: every aarch64 machine has it.
        map: |k, x| unsafe { map::<hone_engine::simd::Neon>(k, x) },
    });
    all
}

/// Evenly spaced, 1 in 7 of them odd lengths from the next so that all lanes and remainders take part.
fn range(low: f32, high: f32) -> Vec<f32> {
    const N: usize = 1_000_003;
    (0..N).map(|i| low + (high - low) * (i as f32 / (N - 1) as f32)).collect()
}

/// Largest distance in units of the exact value's last place, and where.
fn worst(x: &[f32], y: &[f32], exact: impl Fn(f64) -> f64) -> (f64, f32) {
    x.iter().zip(y).fold((0.0, 0.0), |(worst, at), (&x, &y)| {
        let want = exact(f64::from(x));
        let ulp = f64::from(f32::EPSILON) * 2f64.powi(want.abs().log2().floor() as i32);
        let off = (f64::from(y) - want).abs() / ulp;
        if off > worst || off.is_nan() {
            (off, x)
        } else {
            (worst, at)
        }
    })
}

#[test]
fn exponential() {
    for f in levels() {
        let x = range(-87.0, 88.0);
        let y = (f.map)(Kind::Exp, &x);
        let (off, at) = worst(&x, &y, f64::exp);
        assert!(off <= 2.0, "{}: e^{at} is off by {off} ulp", f.name);
        assert!(y.windows(2).all(|w| w[0] <= w[1] * (1.0 + 2.0 * f32::EPSILON)), "{}: not rising", f.name);
        // Exact at 0; the ends hold beyond; NaN is NaN.
        let y = (f.map)(Kind::Exp, &[0.0, -0.0, -1e4, f32::NEG_INFINITY, 1e4, f32::INFINITY, f32::NAN]);
        let least = (f.map)(Kind::Exp, &[-87.0])[0];
        let most = (f.map)(Kind::Exp, &[88.0])[0];
        assert!(least > f32::MIN_POSITIVE && least < 2e-38 && most.is_finite());
        assert_eq!(y[..6], [1.0, 1.0, least, least, most, most], "{}", f.name);
        assert!(y[6].is_nan(), "{}: e^NaN is {}", f.name, y[6]);
    }
}

#[test]
fn logistic_function() {
    for f in levels() {
        let x = range(-86.0, 86.0);
        let y = (f.map)(Kind::Sigmoid, &x);
        let (off, at) = worst(&x, &y, |x| 1.0 / (1.0 + (-x).exp()));
        assert!(off <= 4.0, "{}: sigmoid {at} is off by {off} ulp", f.name);
        let y = (f.map)(Kind::Sigmoid, &[0.0, 1e9, f32::INFINITY, -1e9, f32::NEG_INFINITY, f32::NAN]);
        assert_eq!(y[..3], [0.5, 1.0, 1.0], "{}", f.name);
        assert!(y[3..5].iter().all(|&y| (0.0..1e-37).contains(&y)) && y[5].is_nan(), "{}: {y:?}", f.name);
    }
}

#[test]
fn hyperbolic_tangent() {
    for f in levels() {
        for (low, high) in [(-20.0, 20.0), (-0.01, 0.01)] {
            let x = range(low, high);
            let y = (f.map)(Kind::Tanh, &x);
            // A difference of numbers near 1: its error is absolute.
            let off = x.iter().zip(&y).map(|(&x, &y)| (f64::from(y) - f64::from(x).tanh()).abs()).fold(0.0, f64::max);
            assert!(off <= 2.5e-7, "{}: tanh is off by {off:e}", f.name);
            assert!(y.iter().all(|y| y.abs() <= 1.0));
        }
        let y = (f.map)(Kind::Tanh, &[0.0, 1e9, f32::INFINITY, -1e9, f32::NEG_INFINITY, f32::NAN]);
        assert_eq!(y[..5], [0.0, 1.0, 1.0, -1.0, -1.0], "{}", f.name);
        assert!(y[5].is_nan());
    }
}

#[test]
fn partial_vectors_touch_nothing_else() {
    for f in levels() {
        for n in 0..40 {
            let y = (f.map)(Kind::Exp, &vec![1.0; n]);
            assert!(y.iter().all(|&y| (y - std::f32::consts::E).abs() < 1e-6), "{} {n}: {y:?}", f.name);
        }
    }
}
