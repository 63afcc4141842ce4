//! Backward ops of the reference against finite differences of its forward ops, all in f64. The other tests compare the
//! CPU's backward ops with the reference's.

use crate::support::noise;
use hone_engine::config::Activation;
use hone_engine::device::{AttentionShape, Device};
use hone_engine::layout::Layout;
use hone_engine::reference::{RefMatrix, Reference};

type Vector = Vec<f64>;
const DEV: Reference = Reference;

fn random(n: usize, seed: u64) -> Vector {
    DEV.upload(&noise(n, seed))
}

fn blank(n: usize) -> Vector {
    DEV.alloc(n)
}

fn matrix(w: &Vector, out: usize, inn: usize) -> RefMatrix {
    let mut m = DEV.matrix_dense(vec![0.0; out * inn], out, inn);
    DEV.matrix_buf_mut(&mut m).unwrap().copy_from_slice(w);
    m
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Every element of `gradients` is d loss / d input.
#[track_caller]
fn check(what: &str, inputs: &[Vector], gradients: &[Vector], loss: impl Fn(&[Vector]) -> f64) {
    assert_eq!(inputs.len(), gradients.len());
    const H: f64 = 1e-5;
    for (t, gradient) in gradients.iter().enumerate() {
        assert_eq!(gradient.len(), inputs[t].len(), "{what}: input {t}");
        for (i, g) in gradient.iter().enumerate() {
            let at = |by: f64| {
                let mut moved = inputs.to_vec();
                moved[t][i] += by;
                loss(&moved)
            };
            let slope = (at(H) - at(-H)) / (2.0 * H);
            assert!((slope - g).abs() < 1e-7 * (1.0 + g.abs()), "{what}: input {t} at {i}: {g}, slope {slope}");
        }
    }
}

/// What was there before is added to.
fn minus(a: &Vector, b: &Vector) -> Vector {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[test]
fn linear() {
    for (rows, out, inn) in [(1, 1, 1), (3, 4, 5), (2, 7, 3)] {
        let (x, w, b, dy) = (random(rows * inn, 1), random(out * inn, 2), random(out, 3), random(rows * out, 4));
        let m = matrix(&w, out, inn);
        let before = [random(rows * inn, 5), random(out * inn, 6), random(out, 7)];
        let [mut dx, mut dw, mut db] = before.clone();
        DEV.linear_dx(&dy, rows, &m, &mut dx, true);
        DEV.linear_dw(&dy, &x, rows, out, inn, &mut dw);
        DEV.bias_grad(&dy, rows, out, &mut db);
        let gradients = [minus(&dx, &before[0]), minus(&dw, &before[1]), minus(&db, &before[2])];
        check("linear", &[x, w, b], &gradients, |at| {
            let mut y = blank(rows * out);
            DEV.linear(&at[0], rows, &matrix(&at[1], out, inn), &mut y, false);
            DEV.add_bias(&mut y, rows, &at[2], out);
            inner(&y, &dy)
        });
    }
}

#[test]
fn rms_norm() {
    for (rows, d) in [(1, 1), (3, 5), (2, 12)] {
        for plus_one in [false, true] {
            let (x, w, dy) = (random(rows * d, 1), random(d, 2), random(rows * d, 3));
            let forward = |x: &Vector, w: &Vector| {
                let (mut y, mut rstd) = (blank(rows * d), blank(rows));
                DEV.rms_norm(x, rows, d, w, 1e-3, plus_one, &mut y, &mut rstd);
                (y, rstd)
            };
            let rstd = forward(&x, &w).1;
            let (mut dx, mut dw) = (blank(rows * d), DEV.zeros(d));
            DEV.rms_norm_backward(&dy, &x, &rstd, rows, d, &w, plus_one, &mut dx, false, Some(&mut dw));
            check("rms norm", &[x, w], &[dx, dw], |at| inner(&forward(&at[0], &at[1]).0, &dy));
        }
    }
}

#[test]
fn rope() {
    let (heads, head_dim, positions) = (3, 6, [0, 4, 1, 4]);
    let table: Vector = (0..5)
        .flat_map(|p| {
            let angle = move |i: i32| f64::from(p) * 0.6f64.powi(i);
            (0..3).map(move |i| angle(i).cos()).chain((0..3).map(move |i| angle(i).sin()))
        })
        .collect();
    let (x, dy) = (random(4 * 18, 1), random(4 * 18, 2));
    let mut dx = dy.clone();
    DEV.rope(&mut dx, heads, head_dim, &positions, &table, true);
    check("rope", &[x], &[dx], |at| {
        let mut y = at[0].clone();
        DEV.rope(&mut y, heads, head_dim, &positions, &table, false);
        inner(&y, &dy)
    });
}

#[test]
fn attention() {
    let layouts: [&[(usize, Option<usize>)]; 3] =
        [&[(1, None)], &[(4, None), (3, None)], &[(3, None), (2, Some(0)), (4, None), (3, Some(0))]];
    for layout in layouts.map(|l| Layout::new(l).unwrap()) {
        for (heads, kv_heads, window) in [(1, 1, None), (4, 2, None), (2, 1, Some(2)), (2, 2, Some(1)), (3, 1, Some(4))]
        {
            let s = AttentionShape { heads, kv_heads, head_dim: 4, scale: 0.7, window };
            let (n, qd, kd) = (layout.rows(), heads * 4, kv_heads * 4);
            let (q, k, v, d) = (random(n * qd, 1), random(n * kd, 2), random(n * kd, 3), random(n * qd, 4));
            let forward = |q: &Vector, k: &Vector, v: &Vector| {
                let (mut out, mut lse) = (blank(n * qd), blank(n * heads));
                DEV.attention(q, k, v, &layout, s, &mut out, &mut lse);
                (out, lse)
            };
            let (out, lse) = forward(&q, &k, &v);
            let (mut dq, mut dk, mut dv) = (blank(n * qd), blank(n * kd), blank(n * kd));
            DEV.attention_backward(&d, &out, &lse, &q, &k, &v, &layout, s, &mut dq, &mut dk, &mut dv);
            let what = format!("attention {:?} {s:?}", layout.segments);
            check(&what, &[q, k, v], &[dq, dk, dv], |at| inner(&forward(&at[0], &at[1], &at[2]).0, &d));
        }
    }
}

#[test]
fn glu() {
    for act in [Activation::Silu, Activation::GeluTanh] {
        let g: Vector = random(40, 1).iter().map(|x| x * 6.0).collect();
        let (u, dh) = (random(40, 2), random(40, 3));
        let (mut dg, mut du, mut h) = (g.clone(), u.clone(), blank(40));
        DEV.glu_backward(&dh, &mut dg, &mut du, act, 40, &mut h);
        let forward = |g: &Vector, u: &Vector| {
            let mut h = blank(40);
            DEV.glu(g, u, act, 40, &mut h);
            h
        };
        assert_eq!(h, forward(&g, &u));
        check("glu", &[g, u], &[dg, du], |at| inner(&forward(&at[0], &at[1]), &dh));
    }
}

#[test]
fn tables_and_rows() {
    let (d, ids, rows) = (3, [2, 0, 2, 1, 2], [1, 1, 3, 0, 1]);
    let (w, dy) = (random(4 * d, 1), random(5 * d, 2));
    let (mut dw, mut dx) = (DEV.zeros(4 * d), DEV.zeros(4 * d));
    DEV.embed_backward(&dy, &ids, d, 0.5, &mut dw);
    DEV.scatter_add(&dy, &rows, d, &mut dx);
    check("embed", std::slice::from_ref(&w), &[dw], |at| {
        let mut y = blank(5 * d);
        DEV.embed(&matrix(&at[0], 4, d), &ids, 0.5, &mut y);
        inner(&y, &dy)
    });
    check("gather", &[w], &[dx], |at| {
        let mut y = blank(5 * d);
        DEV.gather(&at[0], &rows, d, &mut y);
        inner(&y, &dy)
    });
}

/// Dropout is its own backward: the same mask on the gradient.
#[test]
fn dropout() {
    let (x, dy) = (random(50, 1), random(50, 2));
    let mut dx = blank(50);
    DEV.dropout(&dy, 50, 0.4, 7, &mut dx);
    check("dropout", &[x], &[dx], |at| {
        let mut y = blank(50);
        DEV.dropout(&at[0], 50, 0.4, 7, &mut y);
        inner(&y, &dy)
    });
}

#[test]
fn log_probabilities() {
    for (rows, vocab, temperature) in [(1, 2, 1.0), (3, 7, 1.0), (2, 11, 0.5), (4, 5, 2.0)] {
        let z: Vector = random(rows * vocab, 1).iter().map(|x| x * 3.0).collect();
        let targets: Vec<i32> = (0..rows as i32).map(|r| r * 3 % vocab as i32).collect();
        let (dlp, dh) = (noise(rows, 2), noise(rows, 3));
        let forward = |z: &Vector| {
            let [mut lp, mut entropy, mut hit, mut lse] = [(); 4].map(|()| blank(rows));
            DEV.logprob(z, rows, vocab, &targets, temperature, &mut lp, &mut entropy, &mut hit, &mut lse);
            (lp, entropy, lse)
        };
        let (_, entropy, lse) = forward(&z);
        for with_entropy in [false, true] {
            let dh = with_entropy.then_some(&dh[..]);
            let mut dz = z.clone();
            DEV.logprob_backward(&mut dz, rows, vocab, &targets, temperature, &lse, &entropy, &dlp, dh);
            check("log-probs", std::slice::from_ref(&z), &[dz], |at| {
                let (lp, entropy, _) = forward(&at[0]);
                inner(&lp, &DEV.upload(&dlp)) + dh.map_or(0.0, |d| inner(&entropy, &DEV.upload(d)))
            });
        }
    }
}
