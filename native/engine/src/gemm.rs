//! C[m,n] (+)= A[m,k] · B[k,n] in fp32.
//!
//! Every element of C is one chain of fused multiply-adds over k = 0, 1, 2, …, whatever m, n, the tiling or the number of
//! threads: a row's result does not depend on the rows beside it. Sampling is therefore reproducible whatever else is in
//! the batch, and a packed batch equals its parts bit for bit.
//!
//! A is read in place (any strides; column-major tiles are copied first). B is read in panels of `nr()` columns,
//! `[n/nr][k][nr]`, padded with zeros: packed per call, or kept by the caller (`Packed`), or, for small in-cache operands,
//! read in place from a row-major matrix.

use crate::pool::Pool;
use crate::simd::{level, Level, Simd};
use crate::simd_fn;
use std::cell::RefCell;

/// Columns of a panel: two vectors.
pub fn nr() -> usize {
    match level() {
        Level::Avx512 => 32,
        Level::Avx2 => 16,
        Level::Neon | Level::Scalar => 8,
    }
}

#[derive(Clone, Copy)]
pub struct MatA {
    pub ptr: *const f32,
    /// Elements from one row to the next, and from one column to the next.
    pub row: usize,
    pub col: usize,
}

/// Panels in memory: element (k, panel p, lane j) is at `ptr + p·panel + k·row + j`.
#[derive(Clone, Copy)]
pub struct Panels {
    pub ptr: *const f32,
    pub row: usize,
    pub panel: usize,
    /// Lanes past n may be read (packed panels); otherwise only n columns are touched.
    pub padded: bool,
}

impl Panels {
    /// `data` as made by `pack_rows` / `pack_transposed`.
    pub fn packed(data: *const f32, k: usize) -> Self {
        Self { ptr: data, row: nr(), panel: k * nr(), padded: true }
    }
    /// A row-major `[k, n]` matrix with `ld` elements per row, read in place.
    pub fn in_place(ptr: *const f32, ld: usize) -> Self {
        Self { ptr, row: ld, panel: nr(), padded: false }
    }
}

#[inline(always)]
unsafe fn micro<S: Simd, const MR: usize, const NP: usize, const FULL: bool>(
    k: usize,
    a: MatA,
    b: Panels,
    c: *mut f32,
    ldc: usize,
    acc: bool,
    n: usize,
) {
    let l = S::LANES;
    let left = |p: usize, v: usize| n.saturating_sub(p * 2 * l + v * l).min(l);
    let mut r = [[[S::zero(); 2]; NP]; MR];
    if acc {
        for i in 0..MR {
            for p in 0..NP {
                for v in 0..2 {
                    let at = c.add(i * ldc + p * 2 * l + v * l);
                    r[i][p][v] = if FULL { S::load(at) } else { S::load_n(at, left(p, v)) };
                }
            }
        }
    }
    // Rows are addressed in threes from few base pointers: base, base + row, base + 2·row fit x86's address forms.
    let mut base = [a.ptr; 4];
    for (j, p) in base.iter_mut().enumerate().take(MR.div_ceil(3)) {
        *p = a.ptr.add(3 * j * a.row);
    }
    let mut bp = b.ptr;
    for _ in 0..k {
        let mut bv = [[S::zero(); 2]; NP];
        for p in 0..NP {
            for v in 0..2 {
                let at = bp.add(p * b.panel + v * l);
                bv[p][v] = if FULL || b.padded { S::load(at) } else { S::load_n(at, left(p, v)) };
            }
        }
        for i in 0..MR {
            let av = S::splat(*base[i / 3].add((i % 3) * a.row));
            for p in 0..NP {
                r[i][p][0] = S::fma(av, bv[p][0], r[i][p][0]);
                r[i][p][1] = S::fma(av, bv[p][1], r[i][p][1]);
            }
        }
        for p in base.iter_mut().take(MR.div_ceil(3)) {
            *p = p.add(a.col);
        }
        bp = bp.add(b.row);
    }
    for i in 0..MR {
        for p in 0..NP {
            for v in 0..2 {
                let at = c.add(i * ldc + p * 2 * l + v * l);
                if FULL {
                    S::store(at, r[i][p][v]);
                } else {
                    S::store_n(at, r[i][p][v], left(p, v));
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn tile<S: Simd, const MR: usize>(n: usize, k: usize, a: MatA, b: Panels, c: *mut f32, ldc: usize, acc: bool) {
    let width = 2 * S::LANES;
    let mut j = 0;
    let mut bb = b;
    if MR <= 2 {
        // One or two rows leave the multiply-add units waiting on each other: four panels at once.
        while n - j >= 4 * width {
            micro::<S, MR, 4, true>(k, a, bb, c.add(j), ldc, acc, 4 * width);
            j += 4 * width;
            bb.ptr = bb.ptr.add(4 * b.panel);
        }
    }
    while n - j >= width {
        micro::<S, MR, 1, true>(k, a, bb, c.add(j), ldc, acc, width);
        j += width;
        bb.ptr = bb.ptr.add(b.panel);
    }
    if j < n {
        micro::<S, MR, 1, false>(k, a, bb, c.add(j), ldc, acc, n - j);
    }
}

thread_local! {
    static A_TILE: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// Contraction lengths above this are cut into pieces so that operands stay in cache; C carries the sum between them.
const KC: usize = 1024;

#[inline(always)]
unsafe fn block_impl<S: Simd, const MR: usize>(
    m: usize,
    n: usize,
    k: usize,
    a: MatA,
    b: Panels,
    c: *mut f32,
    ldc: usize,
    acc: bool,
) {
    let mut k0 = 0;
    while k0 < k || k0 == 0 {
        let kc = KC.min(k - k0);
        let acc = acc || k0 > 0;
        let b = Panels { ptr: b.ptr.add(k0 * b.row), ..b };
        let mut i = 0;
        while i < m {
            let rows = match m - i {
                r if r >= MR => MR,
                r if r >= 6 => 6,
                r if r >= 3 => 3,
                r => r,
            };
            let mut at = MatA { ptr: a.ptr.add(i * a.row + k0 * a.col), ..a };
            let copy = a.col != 1;
            if copy {
                at = copy_tile(at, rows, kc);
            }
            let cc = c.add(i * ldc);
            if rows == MR {
                tile::<S, MR>(n, kc, at, b, cc, ldc, acc);
            } else {
                match rows {
                    6 => tile::<S, 6>(n, kc, at, b, cc, ldc, acc),
                    3 => tile::<S, 3>(n, kc, at, b, cc, ldc, acc),
                    2 => tile::<S, 2>(n, kc, at, b, cc, ldc, acc),
                    _ => tile::<S, 1>(n, kc, at, b, cc, ldc, acc),
                }
            }
            i += rows;
        }
        k0 += kc.max(1);
    }
}

/// Column-strided rows as a `[k][rows]` tile in this thread's scratch.
#[inline(always)]
unsafe fn copy_tile(a: MatA, rows: usize, k: usize) -> MatA {
    A_TILE.with(|t| {
        let mut t = t.borrow_mut();
        if t.len() < rows * k {
            t.resize(rows * k, 0.0);
        }
        let dst = t.as_mut_ptr();
        for kk in 0..k {
            let src = a.ptr.add(kk * a.col);
            for i in 0..rows {
                *dst.add(kk * rows + i) = *src.add(i * a.row);
            }
        }
        MatA { ptr: dst, row: 1, col: rows }
    })
}

simd_fn! {
    /// C (+)= A·B on the calling thread.
    ///
    /// # Safety
    /// Operands must cover the shapes; C must not overlap them.
    pub unsafe fn block(m: usize, n: usize, k: usize, a: MatA, b: Panels, c: *mut f32, ldc: usize, acc: bool) = block_impl [12, 6, 6, 3]
}

/// Floats that packed panels of an n × k operand take.
pub fn packed_len(n: usize, k: usize) -> usize {
    n.div_ceil(nr()) * nr() * k
}

/// Panel `p` of B(k, n) = src[k·ld + n].
///
/// # Safety
/// `src` must cover n × k elements and `dst` one panel, k · `nr()` floats.
pub unsafe fn pack_rows(src: *const f32, ld: usize, p: usize, n: usize, k: usize, dst: *mut f32) {
    let nr = nr();
    let cols = nr.min(n - p * nr);
    for kk in 0..k {
        let d = dst.add(kk * nr);
        std::ptr::copy_nonoverlapping(src.add(kk * ld + p * nr), d, cols);
        for j in cols..nr {
            *d.add(j) = 0.0;
        }
    }
}

/// Panel `p` of B(k, n) = src[n·ld + k] (a weight stored `[out, in]`).
///
/// # Safety
/// `src` must cover n × k elements and `dst` one panel, k · `nr()` floats.
pub unsafe fn pack_transposed(src: *const f32, ld: usize, p: usize, n: usize, k: usize, dst: *mut f32) {
    let nr = nr();
    let cols = nr.min(n - p * nr);
    const B: usize = 16;
    let mut k0 = 0;
    while k0 < k {
        let kb = B.min(k - k0);
        for j in 0..cols {
            let s = src.add((p * nr + j) * ld + k0);
            let d = dst.add(k0 * nr + j);
            for kk in 0..kb {
                *d.add(kk * nr) = *s.add(kk);
            }
        }
        for j in cols..nr {
            for kk in 0..kb {
                *dst.add((k0 + kk) * nr + j) = 0.0;
            }
        }
        k0 += kb;
    }
}

#[derive(Clone, Copy)]
struct Ptr(*mut f32);
// SAFETY: tasks write disjoint parts of C.
unsafe impl Sync for Ptr {}
// SAFETY: as above.
unsafe impl Send for Ptr {}
impl Ptr {
    fn get(self) -> *mut f32 {
        self.0
    }
}

#[derive(Clone, Copy)]
struct Inputs(MatA, Panels);
// SAFETY: read-only operands.
unsafe impl Sync for Inputs {}
impl Inputs {
    fn get(&self) -> (MatA, Panels) {
        (self.0, self.1)
    }
}

/// C (+)= A·B on all threads; B already in panels.
///
/// # Safety
/// Operands must cover the shapes; C must not overlap them.
pub unsafe fn gemm(pool: &Pool, m: usize, n: usize, k: usize, a: MatA, b: Panels, c: *mut f32, ldc: usize, acc: bool) {
    if m == 0 || n == 0 {
        return;
    }
    let threads = pool.threads();
    // Below about 0.2 MFLOP a parallel region costs more than it saves.
    if threads == 1 || m * n * k < 100_000 {
        return block(m, n, k, a, b, c, ldc, acc);
    }
    let nr = nr();
    let panels = n.div_ceil(nr);
    let cache = (96 * 1024 / (KC.min(k) * nr).max(1)).max(1); // panels whose floats stay in a part of L2
    let mut group = cache.min(panels.div_ceil(if m < 96 { threads } else { 1 })).max(1);
    let mut rows = m;
    if m >= 96 {
        let want = (threads * 4).div_ceil(panels.div_ceil(group));
        rows = m.div_ceil(want.max(1)).next_multiple_of(12).max(24);
    } else {
        group = group.min(panels.div_ceil(threads)).max(1);
    }
    let row_blocks = m.div_ceil(rows);
    let groups = panels.div_ceil(group);
    let inputs = Inputs(a, b);
    let out = Ptr(c);
    pool.run(row_blocks * groups, |t| {
        let (a, b) = inputs.get();
        let (i, g) = (t / groups * rows, t % groups * group);
        let cols = n.min((g + group) * nr) - g * nr;
        let a = MatA { ptr: a.ptr.add(i * a.row), ..a };
        let b = Panels { ptr: b.ptr.add(g * b.panel), ..b };
        block(rows.min(m - i), cols, k, a, b, out.get().add(i * ldc + g * nr), ldc, acc);
    });
}

/// GFLOP/s of an m × n × k product, the best of `runs`: what this machine can do at most.
pub fn measure(m: usize, n: usize, k: usize, threads: usize, runs: usize) -> f64 {
    let pool = Pool::new(threads);
    let (a, b, mut c) = (vec![0.5f32; m * k], vec![0.25f32; packed_len(n, k)], vec![0f32; m * n]);
    let mut best = f64::MAX;
    for _ in 0..runs.max(1) {
        let start = std::time::Instant::now();
        let mat = MatA { ptr: a.as_ptr(), row: k, col: 1 };
        // SAFETY: the operands were made for this shape.
        unsafe { gemm(&pool, m, n, k, mat, Panels::packed(b.as_ptr(), k), c.as_mut_ptr(), n, false) };
        best = best.min(start.elapsed().as_secs_f64());
    }
    2.0 * (m * n * k) as f64 / best / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(n: usize, seed: u32) -> Vec<f32> {
        let mut s = seed.wrapping_mul(2654435761).wrapping_add(12345);
        (0..n)
            .map(|_| {
                s = s.wrapping_mul(1664525).wrapping_add(1013904223);
                (s >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect()
    }

    #[test]
    fn matches_scalar_for_ragged_shapes_and_every_operand_form() {
        let pool = Pool::new(2);
        for (m, n, k) in
            [(1, 1, 1), (1, 192, 64), (2, 130, 33), (3, 24, 16), (13, 65, 7), (100, 70, 1030), (257, 192, 64)]
        {
            let a = random(m * k, 1);
            let b = random(n * k, 2);
            let c0 = random(m * n, 3);
            let want: Vec<f64> = (0..m * n)
                .map(|x| {
                    let (i, j) = (x / n, x % n);
                    c0[x] as f64 + (0..k).map(|t| a[i * k + t] as f64 * b[t * n + j] as f64).sum::<f64>()
                })
                .collect();
            let at: Vec<f32> = (0..m * k).map(|x| a[(x % m) * k + x / m]).collect();
            let bt: Vec<f32> = (0..n * k).map(|x| b[(x % k) * n + x / k]).collect();
            let panels = n.div_ceil(nr());
            let mut packed = vec![f32::NAN; packed_len(n, k)];
            let mut packed_t = packed.clone();
            unsafe {
                for p in 0..panels {
                    pack_rows(b.as_ptr(), n, p, n, k, packed.as_mut_ptr().add(p * k * nr()));
                    pack_transposed(bt.as_ptr(), k, p, n, k, packed_t.as_mut_ptr().add(p * k * nr()));
                }
            }
            assert_eq!(packed, packed_t);
            let forms_a = [MatA { ptr: a.as_ptr(), row: k, col: 1 }, MatA { ptr: at.as_ptr(), row: 1, col: m }];
            let forms_b = [Panels::packed(packed.as_ptr(), k), Panels::in_place(b.as_ptr(), n)];
            let mut first: Option<Vec<f32>> = None;
            for fa in forms_a {
                for fb in forms_b {
                    let mut c = c0.clone();
                    unsafe { gemm(&pool, m, n, k, fa, fb, c.as_mut_ptr(), n, true) };
                    for (x, w) in c.iter().zip(&want) {
                        assert!((*x as f64 - w).abs() < 1e-4, "{m}x{n}x{k}: {x} {w}");
                    }
                    // Bit for bit the same whatever the form.
                    let first = first.get_or_insert_with(|| c.clone());
                    assert_eq!(first, &c);
                }
            }
        }
    }

    #[test]
    fn a_row_does_not_depend_on_its_neighbours() {
        let pool = Pool::new(2);
        let (m, n, k) = (97, 192, 192);
        let (a, b) = (random(m * k, 1), random(n * k, 2));
        let fb = Panels::in_place(b.as_ptr(), n);
        let mut whole = vec![0.0; m * n];
        let mut one = vec![0.0; n];
        unsafe {
            gemm(&pool, m, n, k, MatA { ptr: a.as_ptr(), row: k, col: 1 }, fb, whole.as_mut_ptr(), n, false);
            for i in 0..m {
                gemm(
                    &pool,
                    1,
                    n,
                    k,
                    MatA { ptr: a.as_ptr().add(i * k), row: k, col: 1 },
                    fb,
                    one.as_mut_ptr(),
                    n,
                    false,
                );
                assert_eq!(&whole[i * n..(i + 1) * n], &one[..]);
            }
        }
    }
}
