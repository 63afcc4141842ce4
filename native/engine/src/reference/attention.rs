//! Attention and the KV pages, as in the definitions.

use super::{dot, softmax};
use crate::device::{AttentionShape, PageTable, PAGE};
use crate::layout::Layout;
use std::collections::BTreeMap;

/// Layer, page, slot.
type Place = (usize, u32, u32);

pub struct RefKv {
    layers: usize,
    width: usize,
    /// Key and value of every place, all heads in one row.
    rows: BTreeMap<Place, [Vec<f64>; 2]>,
}

impl RefKv {
    pub(super) fn new(layers: usize, width: usize) -> Self {
        Self { layers, width, rows: BTreeMap::new() }
    }
    pub(super) fn write(&mut self, layer: usize, k: &[f64], v: &[f64], at: &[(u32, u32)]) {
        for (i, &(page, slot)) in at.iter().enumerate() {
            let row = i * self.width..(i + 1) * self.width;
            self.rows.insert((layer, page, slot), [k[row.clone()].to_vec(), v[row].to_vec()]);
        }
    }
    pub(super) fn page_bytes(&self) -> usize {
        PAGE * self.layers * 2 * self.width * size_of::<f64>()
    }
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }
}

/// For every row of a packed batch: the rows it attends to, itself included, in order of position.
fn visible(layout: &Layout, window: Option<usize>) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    for s in &layout.segments {
        let before = s.parent.map_or(0..0, |p| {
            let p = &layout.segments[p];
            p.start..p.start + p.len
        });
        for i in 0..s.len {
            let context: Vec<usize> = before.clone().chain(s.start..=s.start + i).collect();
            let seen = window.unwrap_or(context.len()).min(context.len());
            all.push(context[context.len() - seen..].to_vec());
        }
    }
    all
}

/// One query head against the keys it sees: probabilities, and log-sum-exp of the scaled scores.
fn scores(q: &[f64], keys: &[&[f64]], scale: f32) -> (Vec<f64>, f64) {
    softmax(&keys.iter().map(|k| f64::from(scale) * dot(q, k)).collect::<Vec<_>>())
}

impl AttentionShape {
    /// Where head `h` lies in row `r` of q.
    fn query(&self, r: usize, h: usize) -> std::ops::Range<usize> {
        let at = (r * self.heads + h) * self.head_dim;
        at..at + self.head_dim
    }
    /// Where the keys (or values) of query head `h` lie in row `r` of k (or v): neighbouring query heads share one.
    fn key(&self, r: usize, h: usize) -> std::ops::Range<usize> {
        let at = (r * self.kv_heads + h / (self.heads / self.kv_heads)) * self.head_dim;
        at..at + self.head_dim
    }
}

pub(super) fn forward([q, k, v]: [&[f64]; 3], layout: &Layout, s: AttentionShape, out: &mut [f64], lse: &mut [f64]) {
    for (r, seen) in visible(layout, s.window).iter().enumerate() {
        for h in 0..s.heads {
            let keys: Vec<&[f64]> = seen.iter().map(|&j| &k[s.key(j, h)]).collect();
            let (p, l) = scores(&q[s.query(r, h)], &keys, s.scale);
            lse[r * s.heads + h] = l;
            let o = &mut out[s.query(r, h)];
            o.fill(0.0);
            for (p, &j) in p.iter().zip(seen) {
                o.iter_mut().zip(&v[s.key(j, h)]).for_each(|(o, v)| *o += p * v);
            }
        }
    }
}

pub(super) fn backward(
    dout: &[f64],
    [q, k, v]: [&[f64]; 3],
    layout: &Layout,
    s: AttentionShape,
    [dq, dk, dv]: [&mut Vec<f64>; 3],
) {
    for (d, heads) in [(&mut *dq, s.heads), (&mut *dk, s.kv_heads), (&mut *dv, s.kv_heads)] {
        d[..layout.rows() * heads * s.head_dim].fill(0.0);
    }
    for (r, seen) in visible(layout, s.window).iter().enumerate() {
        for h in 0..s.heads {
            let (qr, dor) = (&q[s.query(r, h)], &dout[s.query(r, h)]);
            let keys: Vec<&[f64]> = seen.iter().map(|&j| &k[s.key(j, h)]).collect();
            let (p, _) = scores(qr, &keys, s.scale);
            let dp: Vec<f64> = seen.iter().map(|&j| dot(dor, &v[s.key(j, h)])).collect();
            let mean = dot(&p, &dp);
            for ((&j, p), dp) in seen.iter().zip(&p).zip(&dp) {
                let ds = p * (dp - mean) * f64::from(s.scale);
                dq[s.query(r, h)].iter_mut().zip(&k[s.key(j, h)]).for_each(|(d, k)| *d += ds * k);
                dk[s.key(j, h)].iter_mut().zip(qr).for_each(|(d, q)| *d += ds * q);
                dv[s.key(j, h)].iter_mut().zip(dor).for_each(|(d, o)| *d += p * o);
            }
        }
    }
}

pub(super) fn decode(kv: &RefKv, layer: usize, q: &[f64], tables: &[&PageTable], s: AttentionShape, out: &mut [f64]) {
    for (r, t) in tables.iter().enumerate() {
        let place = |pages: &[u32], i: usize| (layer, pages[i / PAGE], (i % PAGE) as u32);
        let prefix = (0..t.prefix_len).map(|i| place(&t.prefix, i));
        let tokens: Vec<_> = prefix.chain((0..t.own_len).map(|i| place(&t.own, i))).map(|at| &kv.rows[&at]).collect();
        let seen = &tokens[tokens.len() - s.window.unwrap_or(tokens.len()).min(tokens.len())..];
        for h in 0..s.heads {
            let keys: Vec<&[f64]> = seen.iter().map(|[k, _]| &k[s.key(0, h)]).collect();
            let (p, _) = scores(&q[s.query(r, h)], &keys, s.scale);
            let o = &mut out[s.query(r, h)];
            o.fill(0.0);
            for (p, [_, v]) in p.iter().zip(seen) {
                o.iter_mut().zip(&v[s.key(0, h)]).for_each(|(o, v)| *o += p * v);
            }
        }
    }
}
