//! Gated linear unit: h = act(g)·u with SiLU (x·σ(x)) or tanh-GELU (½x(1 + tanh(√(2/π)(x + 0.044715x³)))).

use super::{Cpu, Shared};
use crate::config::Activation;
use crate::simd::Simd;
use crate::simd_fn;

const C0: f32 = 0.797_884_6;
const C1: f32 = 0.044_715;

/// (act(x), act'(x))
#[inline(always)]
unsafe fn act<S: Simd>(x: S::V, gelu: bool) -> (S::V, S::V) {
    let one = S::splat(1.0);
    if gelu {
        let x2 = S::mul(x, x);
        let t = S::tanh(S::mul(S::mul(S::splat(C0), x), S::fma(S::splat(C1), x2, one)));
        let half = S::splat(0.5);
        let up = S::mul(half, S::add(one, t));
        let inner = S::mul(S::splat(C0), S::fma(S::splat(3.0 * C1), x2, one));
        let d = S::mul(S::mul(half, x), S::mul(S::sub(one, S::mul(t, t)), inner));
        (S::mul(x, up), S::add(up, d))
    } else {
        let s = S::sigmoid(x);
        (S::mul(x, s), S::mul(s, S::fma(x, S::sub(one, s), one)))
    }
}

#[inline(always)]
unsafe fn forward_impl<S: Simd>(g: *const f32, u: *const f32, gelu: bool, len: usize, h: *mut f32) {
    let mut i = 0;
    while i < len {
        let n = S::LANES.min(len - i);
        let (a, _) = act::<S>(S::load_n(g.add(i), n), gelu);
        S::store_n(h.add(i), S::mul(a, S::load_n(u.add(i), n)), n);
        i += n;
    }
}
simd_fn! { unsafe fn forward_kernel(g: *const f32, u: *const f32, gelu: bool, len: usize, h: *mut f32) = forward_impl }

#[inline(always)]
unsafe fn backward_impl<S: Simd>(dh: *const f32, g: *mut f32, u: *mut f32, gelu: bool, len: usize, h: *mut f32) {
    let mut i = 0;
    while i < len {
        let n = S::LANES.min(len - i);
        let (gv, uv, dv) = (S::load_n(g.add(i), n), S::load_n(u.add(i), n), S::load_n(dh.add(i), n));
        let (a, da) = act::<S>(gv, gelu);
        S::store_n(h.add(i), S::mul(a, uv), n);
        S::store_n(g.add(i), S::mul(S::mul(dv, uv), da), n);
        S::store_n(u.add(i), S::mul(dv, a), n);
        i += n;
    }
}
simd_fn! { unsafe fn backward_kernel(dh: *const f32, g: *mut f32, u: *mut f32, gelu: bool, len: usize, h: *mut f32) = backward_impl }

pub fn forward(cpu: &Cpu, g: &[f32], u: &[f32], a: Activation, len: usize, h: &mut [f32]) {
    assert!(g.len() >= len && u.len() >= len && h.len() >= len);
    let hp = Shared(h.as_mut_ptr());
    cpu.pool.run_ranges(len, 1 << 13, |s, e| {
        // SAFETY: s..e is this task's own.
        unsafe { forward_kernel(g[s..].as_ptr(), u[s..].as_ptr(), a == Activation::GeluTanh, e - s, hp.at(s)) }
    });
}

pub fn backward(cpu: &Cpu, dh: &[f32], g: &mut [f32], u: &mut [f32], a: Activation, len: usize, h: &mut [f32]) {
    assert!(g.len() >= len && u.len() >= len && h.len() >= len && dh.len() >= len);
    let (gp, up, hp) = (Shared(g.as_mut_ptr()), Shared(u.as_mut_ptr()), Shared(h.as_mut_ptr()));
    cpu.pool.run_ranges(len, 1 << 13, |s, e| {
        // SAFETY: s..e is this task's own.
        unsafe { backward_kernel(dh[s..].as_ptr(), gp.at(s), up.at(s), a == Activation::GeluTanh, e - s, hp.at(s)) }
    });
}
