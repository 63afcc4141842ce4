//! Running one piece of code on two devices and comparing what it gives.

use hone_engine::device::Device;

/// Lengths around the widths of vectors, panels and blocks.
pub const RAGGED: [usize; 14] = [1, 2, 3, 5, 15, 16, 17, 31, 33, 64, 65, 100, 129, 255];

/// Reproducible numbers in (−1, 1), different for every `seed`.
pub fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1;
    (0..n)
        .map(|_| {
            z ^= z << 13;
            z ^= z >> 7;
            z ^= z << 17;
            (z >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

/// Reproducible numbers below `n`.
pub fn choose(count: usize, n: usize, seed: u64) -> Vec<u32> {
    noise(count, seed).iter().map(|x| ((x + 1.0) / 2.0 * n as f32) as u32 % n as u32).collect()
}

pub fn ids(count: usize, n: usize, seed: u64) -> Vec<i32> {
    choose(count, n, seed).into_iter().map(|i| i as i32).collect()
}

/// Floats behind every result; an op must not touch them.
const MARGIN: usize = 5;

/// A buffer for a result of `len`, full of NaN.
pub fn blank<D: Device>(dev: &D, len: usize) -> D::Buf {
    let mut b = dev.alloc(len + MARGIN);
    dev.fill(&mut b, f32::NAN);
    b
}

/// A buffer that starts as `data` and ends with a margin as in `blank`.
pub fn given<D: Device>(dev: &D, data: &[f32]) -> D::Buf {
    let mut b = blank(dev, data.len());
    dev.copy(&dev.upload(data), &mut b, data.len());
    b
}

/// The result in a buffer of `blank` or `given`.
pub fn read<D: Device>(dev: &D, buf: &D::Buf, len: usize) -> Vec<f32> {
    let mut out = vec![0.0; len + MARGIN];
    dev.download(buf, &mut out);
    assert!(out[len..].iter().all(|x| x.is_nan()), "written past {len}: {:?}", &out[len..]);
    out.truncate(len);
    out
}

pub fn same_bits(a: &[Vec<f32>], b: &[Vec<f32>]) -> bool {
    let bits = |x: &[Vec<f32>]| x.iter().map(|x| x.iter().map(|x| x.to_bits()).collect()).collect::<Vec<Vec<u32>>>();
    bits(a) == bits(b)
}

/// Every element within `tol` of its own size plus the results' typical one plus `size`, that of what they are differences of.
#[track_caller]
pub fn close(what: &str, got: &[Vec<f32>], want: &[Vec<f32>], tol: f32, size: f32) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (n, (got, want)) in got.iter().zip(want).enumerate() {
        assert_eq!(got.len(), want.len(), "{what}, result {n}");
        let rms = (want.iter().map(|x| x * x).sum::<f32>() / want.len().max(1) as f32).sqrt();
        for (i, (g, w)) in got.iter().zip(want).enumerate() {
            let off = (g - w).abs() / (w.abs() + rms + size + 1e-30);
            assert!(off <= tol, "{what}, result {n} at {i}: {g} instead of {w}, relative {off:e}, allowed {tol:e}");
        }
    }
}

/// Compares `$body`, a list of results, on the CPU and on the reference; and bit for bit on one and on three threads.
macro_rules! compare {
    ($what:expr, $tol:expr, |$dev:ident| $body:expr) => {
        crate::support::compare!($what, $tol, 0.0, |$dev| $body)
    };
    ($what:expr, $tol:expr, $size:expr, |$dev:ident| $body:expr) => {{
        let cpu = |threads: usize| -> Vec<Vec<f32>> {
            let $dev = &hone_engine::cpu::Cpu::new(threads);
            $body
        };
        let want: Vec<Vec<f32>> = {
            let $dev = &hone_engine::reference::Reference;
            $body
        };
        let (one, three) = (cpu(1), cpu(3));
        crate::support::close(&$what, &one, &want, $tol, $size);
        assert!(crate::support::same_bits(&one, &three), "{} depends on the number of threads", $what);
    }};
}
pub(crate) use compare;
