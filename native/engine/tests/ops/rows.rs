//! Ops that work on rows or single elements: norms, rotation, gates, tables, log-probabilities, the optimizer.

use crate::support::{blank, choose, compare, given, ids, noise, read, RAGGED};
use hone_engine::config::Activation;
use hone_engine::cpu::Cpu;
use hone_engine::device::{AdamW, Device};

#[test]
fn rms_norm() {
    for (i, &d) in RAGGED.iter().chain(&[16, 576, 1030]).enumerate() {
        let rows = [1, 2, 3, 17, 300][i % 5];
        for (plus_one, size) in [(false, 1.0), (true, 30.0)] {
            let x: Vec<f32> = noise(rows * d, 1).iter().map(|x| x * size).collect();
            let (w, dy, dx0, dw0) = (noise(d, 2), noise(rows * d, 3), noise(rows * d, 4), noise(d, 5));
            // The gradient is a difference of numbers of this size.
            let inverse = |row: &[f32]| (d as f32 / row.iter().map(|x| x * x).sum::<f32>()).sqrt();
            let size = x.chunks(d).map(inverse).fold(0.0, f32::max).min(300.0);
            compare!(format!("rms norm {rows} {d} {plus_one}"), 2e-6, size, |dev| {
                let (x, w, dy) = (dev.upload(&x), dev.upload(&w), dev.upload(&dy));
                let (mut y, mut rstd) = (blank(dev, rows * d), blank(dev, rows));
                dev.rms_norm(&x, rows, d, &w, 1e-5, plus_one, &mut y, &mut rstd);
                let (mut a, mut b, mut dw) = (blank(dev, rows * d), given(dev, &dx0), given(dev, &dw0));
                dev.rms_norm_backward(&dy, &x, &rstd, rows, d, &w, plus_one, &mut a, false, None);
                dev.rms_norm_backward(&dy, &x, &rstd, rows, d, &w, plus_one, &mut b, true, Some(&mut dw));
                let mut all: Vec<Vec<f32>> = [y, a, b].iter().map(|b| read(dev, b, rows * d)).collect();
                all.extend([read(dev, &rstd, rows), read(dev, &dw, d)]);
                all
            });
        }
    }
}

#[test]
fn a_row_of_zeros_has_a_norm() {
    compare!("zeros", 1e-6, |dev| {
        let (mut y, mut rstd) = (blank(dev, 9), blank(dev, 1));
        dev.rms_norm(&dev.zeros(9), 1, 9, &dev.upload(&noise(9, 1)), 1e-6, false, &mut y, &mut rstd);
        vec![read(dev, &y, 9), read(dev, &rstd, 1)]
    });
}

#[test]
fn rope() {
    for head_dim in [2, 6, 16, 24, 32, 64, 80, 128] {
        for (rows, heads) in [(1, 1), (3, 2), (17, 5), (130, 9)] {
            let table: Vec<f32> = (0..40)
                .flat_map(|p| {
                    let angle = move |i: usize| (p as f32 * 0.7f32.powi(i as i32)).sin_cos();
                    let half = head_dim / 2;
                    (0..half).map(move |i| angle(i).1).chain((0..half).map(move |i| angle(i).0)).collect::<Vec<_>>()
                })
                .collect();
            let (x, positions) = (noise(rows * heads * head_dim, 1), choose(rows, 40, 2));
            compare!(format!("rope {rows} {heads} {head_dim}"), 1e-6, |dev| {
                let table = dev.upload(&table);
                let (mut a, mut b) = (given(dev, &x), given(dev, &x));
                dev.rope(&mut a, heads, head_dim, &positions, &table, false);
                dev.rope(&mut b, heads, head_dim, &positions, &table, true);
                let turned = [read(dev, &a, x.len()), read(dev, &b, x.len())];
                // There and back.
                dev.rope(&mut a, heads, head_dim, &positions, &table, true);
                turned.into_iter().chain([read(dev, &a, x.len())]).collect()
            });
        }
    }
}

#[test]
fn glu() {
    for len in RAGGED.into_iter().chain([20_000]) {
        for act in [Activation::Silu, Activation::GeluTanh] {
            for size in [1.0, 12.0, 100.0] {
                let g: Vec<f32> = noise(len, 1).iter().map(|x| x * size).collect();
                let (u, dh) = (noise(len, 2), noise(len, 3));
                // Far below 0 the gate is a difference of numbers near 1.
                compare!(format!("{act:?} {len} within ±{size}"), 2e-6, size / 2.0, |dev| {
                    let (mut gg, mut uu, dh) = (given(dev, &g), given(dev, &u), dev.upload(&dh));
                    let (mut h, mut again) = (blank(dev, len), blank(dev, len));
                    dev.glu(&gg, &uu, act, len, &mut h);
                    dev.glu_backward(&dh, &mut gg, &mut uu, act, len, &mut again);
                    [h, again, gg, uu].iter().map(|b| read(dev, b, len)).collect()
                });
            }
        }
    }
}

#[test]
fn tables_and_rows() {
    for (i, &d) in RAGGED.iter().enumerate() {
        let (n, size) = ([1, 4, 33, 200][i % 4], [1, 3, 50][i % 3]);
        let (w, x) = (noise(size * d, 1), noise(n * d, 2));
        // Ids repeat.
        let (id, row) = (ids(n, size, 3), choose(n, size, 4));
        compare!(format!("tables {n} of {size} x {d}"), 2e-6, |dev| {
            let m = dev.matrix_dense(w.clone(), size, d);
            let (table, x) = (dev.upload(&w), dev.upload(&x));
            let (mut e, mut g) = (blank(dev, n * d), blank(dev, n * d));
            dev.embed(&m, &id, 0.3, &mut e);
            dev.gather(&table, &row, d, &mut g);
            let (mut dw, mut dx) = (given(dev, &w), given(dev, &w));
            dev.embed_backward(&x, &id, d, 0.3, &mut dw);
            dev.scatter_add(&x, &row, d, &mut dx);
            vec![read(dev, &e, n * d), read(dev, &g, n * d), read(dev, &dw, size * d), read(dev, &dx, size * d)]
        });
    }
}

#[test]
fn single_elements() {
    for len in RAGGED.into_iter().chain([70_000]) {
        let (x, y) = (noise(len, 1), noise(len, 2));
        compare!(format!("elements {len}"), 5e-7, |dev| {
            let xb = dev.upload(&x);
            let (mut a, mut b, mut c) = (given(dev, &y), given(dev, &y), blank(dev, len));
            dev.axpy(-0.37, &xb, len, &mut a);
            dev.scale(1.7, &mut b, len);
            dev.dropout(&xb, len, 0.3, 99, &mut c);
            let mut d = blank(dev, len);
            dev.copy(&xb, &mut d, len);
            [a, b, c, d].iter().map(|b| read(dev, b, len)).collect()
        });
    }
}

#[test]
fn dropout_drops_its_share_and_differs_by_seed() {
    let dev = Cpu::new(2);
    let ones = dev.upload(&vec![1.0; 100_000]);
    let kept = |p: f32, seed: u64| {
        let mut y = blank(&dev, 100_000);
        dev.dropout(&ones, 100_000, p, seed, &mut y);
        read(&dev, &y, 100_000)
    };
    for p in [0.05f32, 0.5, 0.9] {
        let y = kept(p, 1);
        let share = y.iter().filter(|&&x| x == 0.0).count() as f32 / 1e5;
        assert!((share - p).abs() < 5.0 * (p * (1.0 - p) / 1e5).sqrt(), "{share} of {p}");
        assert!(y.iter().all(|&x| x == 0.0 || x == 1.0 / (1.0 - p)));
    }
    let both = kept(0.5, 1).iter().zip(kept(0.5, 2)).filter(|(a, b)| **a == 0.0 && *b == 0.0).count() as f32 / 1e5;
    assert!((both - 0.25).abs() < 0.01, "masks of two seeds agree on {both}");
    assert!(kept(0.0, 1).iter().all(|&x| x == 1.0));
}

#[test]
fn log_probabilities() {
    for (i, &vocab) in RAGGED.iter().chain(&[1000, 5003]).enumerate() {
        let rows = [1, 2, 17][i % 3];
        for (size, temperature) in [(3.0, 1.0), (20.0, 0.6), (2.0, 2.5), (80.0, 1.0)] {
            let z: Vec<f32> = noise(rows * vocab, 1).iter().map(|x| x * size).collect();
            let (targets, dlp, dentropy) = (ids(rows, vocab, 2), noise(rows, 3), noise(rows, 4));
            let what = format!("log-probs {rows} {vocab} ±{size} at {temperature}");
            compare!(what, 5e-7, size / temperature, |dev| {
                let mut outs = [blank(dev, rows), blank(dev, rows), blank(dev, rows), blank(dev, rows)];
                let [lp, entropy, correct, lse] = &mut outs;
                dev.logprob(&dev.upload(&z), rows, vocab, &targets, temperature, lp, entropy, correct, lse);
                outs.iter().map(|b| read(dev, b, rows)).collect()
            });
            compare!(what, 5e-7 * size / temperature, 1.0 / temperature, |dev| {
                let [mut lp, mut entropy, mut hit, mut lse] = [(); 4].map(|()| blank(dev, rows));
                let (mut a, mut b) = (given(dev, &z), given(dev, &z));
                dev.logprob(&a, rows, vocab, &targets, temperature, &mut lp, &mut entropy, &mut hit, &mut lse);
                let (h, d) = (&entropy, Some(&dentropy[..]));
                dev.logprob_backward(&mut a, rows, vocab, &targets, temperature, &lse, h, &dlp, d);
                dev.logprob_backward(&mut b, rows, vocab, &targets, temperature, &lse, h, &dlp, None);
                [a, b].iter().map(|b| read(dev, b, rows * vocab)).collect()
            });
        }
    }
}

/// The target is most likely, also beside an equal one; it is second; all are equal.
#[test]
fn correct_is_the_most_likely_token_or_one_equal_to_it() {
    for vocab in RAGGED.into_iter().filter(|&v| v > 2) {
        let mut z = noise(5 * vocab, 1);
        for row in 0..4 {
            z[row * vocab + vocab - 1] = 7.0;
            z[row * vocab + vocab / 2 - 1] = [6.9999995, 7.0, 6.0, 7.0000005][row];
        }
        z[4 * vocab..].fill(-3.0);
        let last = vocab as i32 - 1;
        compare!(format!("correct of {vocab}"), 5e-7, |dev| {
            let [mut lp, mut entropy, mut hit, mut lse] = [(); 4].map(|()| blank(dev, 5));
            let targets = [last, last, 0, last, 1];
            dev.logprob(&dev.upload(&z), 5, vocab, &targets, 1.3, &mut lp, &mut entropy, &mut hit, &mut lse);
            let hit = read(dev, &hit, 5);
            assert_eq!(hit, [1.0, 1.0, 0.0, 0.0, 1.0]);
            vec![hit]
        });
    }
}

#[test]
fn adamw() {
    for (i, &len) in RAGGED.iter().chain(&[40_000]).enumerate() {
        let (w, g, m) = (noise(len, 1), noise(len, 2), noise(len, 3));
        let v: Vec<f32> = noise(len, 4).iter().map(|x| x * x).collect();
        let o = AdamW {
            lr: [1e-3, 1e-5, 0.1][i % 3],
            beta1: 0.9,
            beta2: [0.999, 0.95][i % 2],
            eps: 1e-8,
            weight_decay: [0.0, 0.01, 0.3][i % 3],
            step: [1, 2, 1000][i % 3],
            grad_scale: [1.0, 0.25][i % 2],
        };
        compare!(format!("adamw {len}"), 2e-6, |dev| {
            let (mut w, mut m, mut v, g) = (given(dev, &w), given(dev, &m), given(dev, &v), dev.upload(&g));
            let changed = dev.adamw(&mut w, &g, &mut m, &mut v, len, o);
            assert!(changed > 0 && changed <= len as u64);
            [w, m, v].iter().map(|b| read(dev, b, len)).collect()
        });
    }
}

/// The count is of weights whose fp32 value moved: a step below half their spacing moves none.
#[test]
fn changed_weights_are_counted() {
    let dev = Cpu::new(2);
    let o = AdamW { lr: 1e-9, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0, step: 1, grad_scale: 1.0 };
    let w: Vec<f32> = (0..100).map(|i| if i % 4 == 0 { 0.0 } else { 1.0 }).collect();
    let (mut wb, mut m, mut v) = (dev.upload(&w), dev.zeros(100), dev.zeros(100));
    let grad = dev.upload(&[1.0; 100]);
    assert_eq!(dev.adamw(&mut wb, &grad, &mut m, &mut v, 100, o), 25);
}

#[test]
fn norm_squared() {
    for len in RAGGED.into_iter().chain([16_384, 16_385, 100_000]) {
        let mut x = noise(len, 1);
        let exact: f64 = x.iter().map(|&x| f64::from(x).powi(2)).sum();
        let dev = Cpu::new(3);
        let (sum, bad) = dev.norm_squared(&dev.upload(&x), len);
        assert!((sum - exact).abs() <= 1e-12 * exact && bad == 0, "{len}: {sum} instead of {exact}");
        assert_eq!(Cpu::new(1).norm_squared(&Cpu::new(1).upload(&x), len).0.to_bits(), sum.to_bits());
        x[len / 2] = f32::NAN;
        x[len - 1] = f32::NEG_INFINITY;
        let want = if len / 2 == len - 1 { 1 } else { 2 };
        assert_eq!(dev.norm_squared(&dev.upload(&x), len).1, want, "{len}");
    }
    // Squares that overflow fp32 do not overflow here.
    let dev = Cpu::new(1);
    let (sum, bad) = dev.norm_squared(&dev.upload(&[3e30, 4e30]), 2);
    assert!((sum / 25e60 - 1.0).abs() < 1e-6 && bad == 0);
}
