//! The KV pages and attention of one new token per sequence.
//!
//! A page holds 16 tokens of every layer and kv head: keys transposed `[hd][16]`, so that the scores of 16 tokens are one
//! vector accumulation, then values `[16][hd]`. The order of all sums depends on the sequence alone.

use super::{Cpu, Shared};
use crate::device::{AttentionShape, PageTable, PAGE};
use crate::simd::Simd;
use crate::simd_fn;
use std::cell::RefCell;

pub struct CpuKv {
    layers: usize,
    kv_heads: usize,
    hd: usize,
    pages: Vec<Box<[f32]>>,
}

impl CpuKv {
    pub(super) fn new(layers: usize, kv_heads: usize, hd: usize) -> Self {
        Self { layers, kv_heads, hd, pages: Vec::new() }
    }
    pub(super) fn page_floats(&self) -> usize {
        self.layers * self.kv_heads * 2 * self.hd * PAGE
    }
    pub(super) fn clear(&mut self) {
        self.pages = Vec::new();
    }
    fn head_at(&self, layer: usize, kvh: usize) -> usize {
        (layer * self.kv_heads + kvh) * 2 * self.hd * PAGE
    }
    pub(super) fn write(&mut self, layer: usize, k: &[f32], v: &[f32], at: &[(u32, u32)]) {
        let (hd, kd) = (self.hd, self.kv_heads * self.hd);
        for (i, &(page, slot)) in at.iter().enumerate() {
            while self.pages.len() <= page as usize {
                self.pages.push(Box::default());
            }
            if self.pages[page as usize].is_empty() {
                self.pages[page as usize] = vec![0.0; self.page_floats()].into_boxed_slice();
            }
            for h in 0..self.kv_heads {
                let base = self.head_at(layer, h);
                let p = &mut self.pages[page as usize][base..base + 2 * hd * PAGE];
                let src = i * kd + h * hd;
                for d in 0..hd {
                    p[d * PAGE + slot as usize] = k[src + d];
                }
                p[hd * PAGE + slot as usize * hd..][..hd].copy_from_slice(&v[src..src + hd]);
            }
        }
    }
}

thread_local! {
    static SCORES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// s[16] = q · Kᵀ of one page.
#[inline(always)]
unsafe fn page_scores<S: Simd>(q: *const f32, keys: *const f32, hd: usize, s: *mut f32) {
    let l = S::LANES;
    let mut acc = [S::zero(); 4];
    for d in 0..hd {
        let qv = S::splat(*q.add(d));
        for j in 0..PAGE / l {
            acc[j] = S::fma(qv, S::load(keys.add(d * PAGE + j * l)), acc[j]);
        }
    }
    for j in 0..PAGE / l {
        S::store(s.add(j * l), acc[j]);
    }
}

#[inline(always)]
unsafe fn head_impl<S: Simd>(
    q: *const f32,
    pages: &[(*const f32, usize, usize)],
    hd: usize,
    scale: f32,
    s: *mut f32,
    out: *mut f32,
) {
    let l = S::LANES;
    let mut max = f32::NEG_INFINITY;
    for (i, &(page, from, to)) in pages.iter().enumerate() {
        let sp = s.add(i * PAGE);
        page_scores::<S>(q, page, hd, sp);
        for t in 0..PAGE {
            if t < from || t >= to {
                *sp.add(t) = f32::NEG_INFINITY;
            }
        }
        let mut m = S::load(sp);
        for j in 1..PAGE / l {
            m = S::max(m, S::load(sp.add(j * l)));
        }
        max = max.max(S::hmax(m));
    }
    let (mv, sv) = (S::splat(max), S::splat(scale));
    let mut sum = S::zero();
    for i in 0..pages.len() * PAGE / l {
        let e = S::exp(S::mul(S::sub(S::load(s.add(i * l)), mv), sv));
        S::store(s.add(i * l), e);
        sum = S::add(sum, e);
    }
    let inv = S::splat(1.0 / S::sum(sum));
    let mut d = 0;
    while d < hd {
        let n = (hd - d).min(4 * l);
        let mut acc = [S::zero(); 4];
        for (i, &(page, from, to)) in pages.iter().enumerate() {
            for t in from..to {
                let p = S::splat(*s.add(i * PAGE + t));
                let v = page.add(hd * PAGE + t * hd + d);
                if n == 4 * l {
                    for j in 0..4 {
                        acc[j] = S::fma(p, S::load(v.add(j * l)), acc[j]);
                    }
                } else {
                    for j in 0..n.div_ceil(l) {
                        acc[j] = S::fma(p, S::load_n(v.add(j * l), n - j * l), acc[j]);
                    }
                }
            }
        }
        for j in 0..n.div_ceil(l) {
            S::store_n(out.add(d + j * l), S::mul(acc[j], inv), l.min(n - j * l));
        }
        d += n;
    }
}
simd_fn! { unsafe fn head(q: *const f32, pages: &[(*const f32, usize, usize)], hd: usize, scale: f32, s: *mut f32, out: *mut f32) = head_impl }

pub fn forward(
    cpu: &Cpu,
    kv: &CpuKv,
    layer: usize,
    q: &[f32],
    tables: &[&PageTable],
    sh: AttentionShape,
    out: &mut [f32],
) {
    let (hd, qd) = (sh.head_dim, sh.heads * sh.head_dim);
    assert!(q.len() >= tables.len() * qd && out.len() >= tables.len() * qd);
    let op = Shared(out.as_mut_ptr());
    let per = sh.heads / sh.kv_heads;
    let one = |i: usize, kvh: usize| {
        let t = tables[i];
        let first = sh.window.map_or(0, |w| (t.prefix_len + t.own_len).saturating_sub(w));
        let base = kv.head_at(layer, kvh);
        let mut pages: Vec<(*const f32, usize, usize)> = Vec::with_capacity(t.prefix.len() + t.own.len());
        let mut add = |list: &[u32], len: usize, offset: usize| {
            for (j, &p) in list.iter().enumerate().take(len.div_ceil(PAGE)) {
                let start = offset + j * PAGE;
                let to = PAGE.min(len - j * PAGE);
                let from = first.saturating_sub(start);
                if from < to {
                    pages.push((kv.pages[p as usize][base..].as_ptr(), from, to));
                }
            }
        };
        add(&t.prefix, t.prefix_len, 0);
        add(&t.own, t.own_len, t.prefix_len);
        SCORES.with(|s| {
            let mut s = s.borrow_mut();
            if s.len() < pages.len() * PAGE {
                s.resize(pages.len() * PAGE, 0.0);
            }
            for h in kvh * per..(kvh + 1) * per {
                // SAFETY: head h of row i is this task's own.
                unsafe {
                    head(q[i * qd + h * hd..].as_ptr(), &pages, hd, sh.scale, s.as_mut_ptr(), op.at(i * qd + h * hd))
                };
            }
        });
    };
    let total = tables.len() * sh.kv_heads;
    let work: usize = tables.iter().map(|t| t.prefix_len + t.own_len).sum::<usize>() * qd;
    if work < 1 << 15 {
        (0..total).for_each(|t| one(t / sh.kv_heads, t % sh.kv_heads));
    } else {
        cpu.pool.run_ranges(total, 1, |a, b| (a..b).for_each(|t| one(t / sh.kv_heads, t % sh.kv_heads)));
    }
}
