//! Attention over packed batches with shared prefixes and windows, and over KV pages.

use crate::support::{blank, compare, noise, read, same_bits};
use hone_engine::cpu::Cpu;
use hone_engine::device::{AttentionShape, Device, PageTable, PAGE};
use hone_engine::layout::Layout;

fn shape(heads: usize, kv_heads: usize, head_dim: usize, window: Option<usize>) -> AttentionShape {
    AttentionShape { heads, kv_heads, head_dim, scale: (head_dim as f32).powf(-0.5), window }
}

/// Lengths and parents around the 64-row blocks, alone and behind a shared prefix.
fn layouts() -> Vec<Layout> {
    let lists: [&[(usize, Option<usize>)]; 10] = [
        &[(1, None)],
        &[(2, None), (1, None), (3, None)],
        &[(5, None), (16, None), (15, None), (17, None)],
        &[(33, None)],
        &[(64, None), (65, None)],
        &[(100, None), (31, None)],
        &[(1, None), (1, Some(0)), (2, Some(0))],
        &[(5, None), (3, Some(0)), (70, Some(0)), (66, None), (1, Some(0)), (17, Some(3))],
        &[(64, None), (64, Some(0)), (1, Some(0))],
        &[(130, None), (65, Some(0)), (2, None), (33, Some(0))],
    ];
    lists.iter().map(|l| Layout::new(l).unwrap()).collect()
}

fn check(layout: &Layout, s: AttentionShape, seed: u64, size: f32) {
    let (n, qd, kd) = (layout.rows(), s.heads * s.head_dim, s.kv_heads * s.head_dim);
    let big = |n: usize, seed: u64| noise(n, seed).iter().map(|x| x * size).collect::<Vec<f32>>();
    let (q, k, v, d) = (big(n * qd, seed), big(n * kd, seed + 1), noise(n * kd, seed + 2), noise(n * qd, seed + 3));
    let segments: Vec<_> = layout.segments.iter().map(|s| (s.len, s.parent)).collect();
    // Scores are sums of products: their rounding grows with the inputs, and the exponential's with it.
    let tol = 1e-6 * (1.0 + size * size * (s.head_dim as f32).sqrt() / 2.0);
    compare!(format!("attention over {segments:?}, {s:?}"), tol, size, |dev| {
        let (q, k, v, d) = (dev.upload(&q), dev.upload(&k), dev.upload(&v), dev.upload(&d));
        let (mut out, mut lse) = (blank(dev, n * qd), blank(dev, n * s.heads));
        dev.attention(&q, &k, &v, layout, s, &mut out, &mut lse);
        let (mut dq, mut dk, mut dv) = (blank(dev, n * qd), blank(dev, n * kd), blank(dev, n * kd));
        dev.attention_backward(&d, &out, &lse, &q, &k, &v, layout, s, &mut dq, &mut dk, &mut dv);
        vec![
            read(dev, &out, n * qd),
            read(dev, &lse, n * s.heads),
            read(dev, &dq, n * qd),
            read(dev, &dk, n * kd),
            read(dev, &dv, n * kd),
        ]
    });
}

#[test]
fn every_layout() {
    for (i, layout) in layouts().iter().enumerate() {
        check(layout, shape(4, 2, 16, None), i as u64, 1.0);
        check(layout, shape(3, 1, 24, None), i as u64, 4.0);
    }
}

#[test]
fn every_head_dim() {
    for (i, head_dim) in [2, 12, 16, 24, 32, 64, 80, 128].into_iter().enumerate() {
        for (heads, kv_heads) in [(1, 1), (2, 2), (9, 3), (6, 1)] {
            check(&layouts()[[2, 7][i % 2]], shape(heads, kv_heads, head_dim, None), 5, 1.0);
        }
    }
}

#[test]
fn windows() {
    for window in [1, 2, 4, 15, 16, 17, 63, 64, 65, 1000] {
        for layout in &layouts()[4..] {
            check(layout, shape(2, 1, 32, Some(window)), window as u64, 1.5);
        }
    }
}

/// Pages in a made-up order, prefix and own ones mixed.
fn table(prefix_len: usize, own_len: usize, next: &mut u32) -> PageTable {
    let mut pages = |len: usize| -> Vec<u32> {
        *next += len.div_ceil(PAGE) as u32;
        (0..len.div_ceil(PAGE) as u32).map(|i| *next - 1 - i).collect()
    };
    PageTable { prefix: pages(prefix_len), prefix_len, own: pages(own_len), own_len }
}

fn slots(t: &PageTable) -> Vec<(u32, u32)> {
    let all = |pages: &[u32], len: usize| (0..len).map(|i| (pages[i / PAGE], (i % PAGE) as u32)).collect::<Vec<_>>();
    [all(&t.prefix, t.prefix_len), all(&t.own, t.own_len)].concat()
}

#[test]
fn decoding_over_pages() {
    let lengths = [(1, 1), (0, 1), (16, 1), (15, 2), (17, 16), (33, 17), (5, 100), (0, 255), (64, 64), (130, 3)];
    for (i, head_dim) in [2, 12, 16, 24, 32, 64, 80, 128].into_iter().enumerate() {
        for (heads, kv_heads) in [(1, 1), (4, 2), (9, 3)] {
            for window in [None, Some(1), Some(16), Some(50)] {
                let s = shape(heads, kv_heads, head_dim, window);
                let (qd, kd) = (heads * head_dim, kv_heads * head_dim);
                let mut next = 0;
                let tables: Vec<PageTable> = lengths.iter().map(|&(p, o)| table(p, o, &mut next)).collect();
                let refs: Vec<&PageTable> = tables.iter().collect();
                let at: Vec<(u32, u32)> = tables.iter().flat_map(slots).collect();
                let q = noise(tables.len() * qd, i as u64);
                compare!(format!("decoding {s:?}"), 2e-6, |dev| {
                    let mut kv = dev.kv_new(3, kv_heads, head_dim);
                    // Other layers hold other values.
                    for layer in 0..3 {
                        let (k, v) = (noise(at.len() * kd, 10 + layer as u64), noise(at.len() * kd, 20 + layer as u64));
                        // In two parts, as prompt and answer are.
                        let cut = at.len() / 3;
                        for (from, to) in [(0, cut), (cut, at.len())] {
                            let (k, v) = (dev.upload(&k[from * kd..to * kd]), dev.upload(&v[from * kd..to * kd]));
                            dev.kv_write(&mut kv, layer, &k, &v, &at[from..to]);
                        }
                    }
                    let mut out = blank(dev, tables.len() * qd);
                    dev.attention_decode(&kv, 1, &dev.upload(&q), &refs, s, &mut out);
                    vec![read(dev, &out, tables.len() * qd)]
                });
            }
        }
    }
}

/// A sequence decodes the same alone and beside others, and a cleared cache takes new pages.
#[test]
fn sequences_do_not_see_each_other() {
    let (s, kd, qd) = (shape(4, 2, 16, None), 32, 64);
    let mut next = 0;
    let tables: Vec<PageTable> = [(20, 5), (0, 40), (33, 1)].iter().map(|&(p, o)| table(p, o, &mut next)).collect();
    let at: Vec<(u32, u32)> = tables.iter().flat_map(slots).collect();
    let (k, v, q) = (noise(at.len() * kd, 1), noise(at.len() * kd, 2), noise(3 * qd, 3));
    for threads in [1, 3] {
        let dev = Cpu::new(threads);
        let mut kv = dev.kv_new(1, 2, 16);
        for _ in 0..2 {
            dev.kv_write(&mut kv, 0, &dev.upload(&k), &dev.upload(&v), &at);
            let decode = |which: &[usize]| {
                let refs: Vec<&PageTable> = which.iter().map(|&i| &tables[i]).collect();
                let rows: Vec<f32> = which.iter().flat_map(|&i| q[i * qd..(i + 1) * qd].to_vec()).collect();
                let mut out = blank(&dev, rows.len());
                dev.attention_decode(&kv, 0, &dev.upload(&rows), &refs, s, &mut out);
                read(&dev, &out, rows.len())
            };
            let whole = decode(&[0, 1, 2]);
            for i in 0..3 {
                assert!(same_bits(&[decode(&[i])], &[whole[i * qd..(i + 1) * qd].to_vec()]));
            }
            let turned = decode(&[2, 0, 1]);
            assert!(same_bits(&[turned[..qd].to_vec()], &[whole[2 * qd..].to_vec()]));
            dev.kv_clear(&mut kv);
        }
        assert_eq!(dev.kv_page_bytes(&kv), PAGE * 2 * kd * 4);
    }
}

/// A packed batch equals its sequences one by one, bit for bit.
#[test]
fn packing_changes_nothing() {
    let s = shape(4, 2, 16, None);
    let lengths = [3, 70, 16, 1, 130];
    let n: usize = lengths.iter().sum();
    let (q, k, v) = (noise(n * 64, 1), noise(n * 32, 2), noise(n * 32, 3));
    let dev = Cpu::new(2);
    let run = |lengths: &[usize], first: usize| {
        let n: usize = lengths.iter().sum();
        let part = |x: &[f32], w: usize| dev.upload(&x[first * w..(first + n) * w]);
        let (mut out, mut lse) = (blank(&dev, n * 64), blank(&dev, n * 4));
        let layout = Layout::sequences(lengths).unwrap();
        dev.attention(&part(&q, 64), &part(&k, 32), &part(&v, 32), &layout, s, &mut out, &mut lse);
        [read(&dev, &out, n * 64), read(&dev, &lse, n * 4)]
    };
    let whole = run(&lengths, 0);
    let mut first = 0;
    for len in lengths {
        let [out, lse] = run(&[len], first);
        assert!(same_bits(&[out], &[whole[0][first * 64..(first + len) * 64].to_vec()]), "{len} tokens");
        assert!(same_bits(&[lse], &[whole[1][first * 4..(first + len) * 4].to_vec()]));
        first += len;
    }
}
