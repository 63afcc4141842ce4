//! What the value head promises.

use crate::support::*;
use hone_engine::cpu::Cpu;
use hone_engine::formats::{Dtype, SafetensorsFile};
use hone_engine::layout::Layout;
use hone_engine::model::{create_model, Batch, Model, OptimOptions, Values};
use std::path::Path;

/// A model with a value head of random weights, for full training or with an adapter.
fn start(f: &Folder, full: bool, threads: usize) -> Model<Cpu> {
    let mut m = open(f, full, threads);
    if !full {
        lora(&mut m, 0.0);
        fill_lora_b(&mut m);
    }
    m.attach_value_head().unwrap();
    fill_head(&mut m);
    m
}

fn fill_head(m: &mut Model<Cpu>) {
    let dev = m.dev.clone();
    m.value_head.as_mut().unwrap().params_mut().for_each(|p| fill(&dev, p, 0.7));
}

fn noise(n: usize, seed: u32) -> Vec<f32> {
    tokens(n, seed).iter().map(|&x| x as f32 / 48.5 - 1.0).collect()
}

/// A prompt with answers behind it, and a row of its own; the prompt is not scored.
fn shared_batch() -> Batch {
    let segments = [(7, None), (5, Some(0)), (11, None), (9, Some(0))];
    let mut mask = vec![1; 32];
    mask[..7].fill(0);
    Batch { ids: tokens(32, 4), layout: Layout::new(&segments).unwrap(), mask }
}

/// Σ of products of what is known.
fn inner(scores: &[f32], d: &[f32]) -> f64 {
    scores.iter().zip(d).filter(|(x, _)| !x.is_nan()).map(|(x, d)| f64::from(*x) * f64::from(*d)).sum()
}

fn heads(m: &Model<Cpu>) -> Vec<Vec<f32>> {
    weights(m).split_off(m.params().count())
}

#[test]
fn gradients_of_shared_values_match_finite_differences() {
    let f = Folder::new("values-finite");
    for full in [true, false] {
        let mut m = start(&f, full, 2);
        let (dlp, dv) = (noise(32, 1), noise(32, 2));
        let loss = |m: &mut Model<Cpu>| {
            let s = m.forward(shared_batch(), false, 1.0, Some(Values::Shared)).unwrap();
            inner(&s.logprobs, &dlp) + inner(&s.values.unwrap().tokens, &dv)
        };
        m.forward(shared_batch(), true, 1.0, Some(Values::Shared)).unwrap();
        m.backward(Some(&dlp), None, Some(&dv)).unwrap();
        let both = gradients(&mut m);
        assert!(both.iter().rev().take(2).all(|g| g.iter().any(|x| x.abs() > 1e-3)));
        check_slopes(&mut m, &both, loss);
        // Each alone, added up.
        m.zero_grad();
        for (dlp, dv) in [(Some(&dlp[..]), None), (None, Some(&dv[..]))] {
            m.forward(shared_batch(), true, 1.0, Some(Values::Shared)).unwrap();
            m.backward(dlp, None, dv).unwrap();
        }
        same(&gradients(&mut m), &both, 1e-5);
    }
}

#[test]
fn detached_values_reach_only_the_head() {
    let f = Folder::new("values-detached");
    for full in [true, false] {
        let mut m = start(&f, full, 2);
        let dv = noise(32, 2);
        let mut pass = |mode: Values, dlp: Option<&[f32]>| {
            m.zero_grad();
            m.forward(shared_batch(), true, 1.0, Some(mode)).unwrap();
            m.backward(dlp, None, Some(&dv)).unwrap();
            let mut all = gradients(&mut m);
            let head = all.split_off(all.len() - 2);
            (all, head)
        };
        let (deep, head) = pass(Values::Shared, None);
        assert!(deep.iter().flatten().any(|x| *x != 0.0));
        for dlp in [None, Some(&[0.0; 32][..])] {
            let (none, same_head) = pass(Values::Detached, dlp);
            assert!(none.iter().flatten().all(|x| *x == 0.0));
            assert_eq!(head, same_head);
        }
        let dlp = noise(32, 3);
        let (with, _) = pass(Values::Detached, Some(&dlp));
        m.zero_grad();
        m.forward(shared_batch(), true, 1.0, None).unwrap();
        m.backward(Some(&dlp), None, None).unwrap();
        let mut without = gradients(&mut m);
        without.truncate(with.len());
        assert_eq!(with, without);
    }
}

/// However a batch is cut, and however its layers are kept.
#[test]
fn values_do_not_depend_on_the_batch() {
    let f = Folder::new("values-cut");
    let rows: Vec<_> = (0..6).map(|i| tokens(3 + 17 * i, i as u32)).collect();
    let total: usize = rows.iter().map(Vec::len).sum();
    let dv = noise(total, 9);
    let run = |m: &mut Model<Cpu>, rows: &[Vec<i32>], dv: &[f32]| {
        let s = m.forward(sequences(rows), true, 1.0, Some(Values::Shared)).unwrap();
        m.backward(Some(&vec![0.1; dv.len()]), None, Some(dv)).unwrap();
        s.values.unwrap()
    };
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for full in [true, false] {
        let [mut whole, mut parts, mut again] = [2, 2, 1].map(|threads| start(&f, full, threads));
        again.recompute = true;
        let all = run(&mut whole, &rows, &dv);
        let recomputed = run(&mut again, &rows, &dv);
        let want = gradients(&mut whole);
        assert_eq!(gradients(&mut again), want);
        assert_eq!((bits(&recomputed.tokens), bits(&recomputed.ends)), (bits(&all.tokens), bits(&all.ends)));
        let mut at = 0;
        for (i, row) in rows.iter().enumerate() {
            let one = run(&mut parts, std::slice::from_ref(row), &dv[at..at + row.len()]);
            assert!(one.tokens[0].is_nan() && one.tokens[1..].iter().all(|x| x.is_finite()));
            assert_eq!(bits(&one.tokens), bits(&all.tokens[at..at + row.len()]));
            assert_eq!(bits(&one.ends), bits(&all.ends[i..=i]));
            at += row.len();
        }
        same(&gradients(&mut parts), &want, 5e-6);
    }
}

/// Logits of 600 rows of 65,536 are made in three chunks.
#[test]
fn values_across_chunks_of_rows() {
    let f = Folder::new("values-chunks");
    let config = CONFIG
        .replace("\"vocab_size\":97", "\"vocab_size\":65536")
        .replace("\"hidden_size\":48", "\"hidden_size\":16")
        .replace("\"num_attention_heads\":4", "\"num_attention_heads\":2");
    create_model(&f.0, &config, 3).unwrap();
    let rows: Vec<_> = (0..3).map(|i| tokens(200, i)).collect();
    let dv = noise(600, 5);
    let run = |m: &mut Model<Cpu>, rows: &[Vec<i32>], dv: &[f32]| {
        let s = m.forward(sequences(rows), true, 1.0, Some(Values::Shared)).unwrap();
        m.backward(None, None, Some(dv)).unwrap();
        s.values.unwrap().tokens
    };
    let [mut whole, mut parts] = [2, 2].map(|threads| start(&f, true, threads));
    let all = run(&mut whole, &rows, &dv);
    for (i, row) in rows.iter().enumerate() {
        let part = i * 200..(i + 1) * 200;
        let one = run(&mut parts, std::slice::from_ref(row), &dv[part.clone()]);
        assert_eq!(one[1..], all[part][1..]);
    }
    same(&gradients(&mut whole), &gradients(&mut parts), 5e-6);
}

#[test]
fn the_value_at_an_end_is_that_of_a_longer_row_there() {
    let f = Folder::new("values-ends");
    let mut m = start(&f, true, 2);
    let mut values = |segments: &[(usize, Option<usize>)], ids: Vec<i32>| {
        let batch = Batch { ids, layout: Layout::new(segments).unwrap(), mask: vec![] };
        m.forward(batch, false, 1.0, Some(Values::Detached)).unwrap().values.unwrap()
    };
    let (prompt, answer, other) = (tokens(20, 1), tokens(30, 2), tokens(12, 3));
    let long = values(&[(50, None)], [prompt.clone(), answer.clone()].concat());
    for cut in [1, 2, 19, 29] {
        let ids = [prompt.clone(), other.clone(), answer[..cut].to_vec()].concat();
        let v = values(&[(20, None), (12, Some(0)), (cut, Some(0))], ids);
        assert_eq!(v.ends.len(), 3);
        // A prefix ends where its answers begin.
        assert_eq!(v.ends[0], long.tokens[20]);
        assert_eq!(v.ends[2], long.tokens[20 + cut]);
        assert_eq!(v.tokens[32], v.ends[0]);
        assert_ne!(v.ends[1], v.ends[2]);
    }
}

#[test]
fn a_frozen_policy_does_not_move_while_the_critic_learns() {
    let f = Folder::new("values-frozen");
    for full in [true, false] {
        let [mut m, mut twin] = [2, 2].map(|threads| start(&f, full, threads));
        // Moments that could move the weights, and policy gradients that must not.
        for m in [&mut m, &mut twin] {
            pass(m, sequences(&[tokens(40, 1)]), 39.0);
            m.optim_step(OptimOptions { value_lr: None, ..step(1e-2) }).unwrap();
        }
        let (before, head) = (weights(&m), heads(&m));
        let target = noise(40, 8);
        let mut losses = Vec::new();
        for _ in 0..20 {
            let batch = sequences(&[tokens(40, 2)]);
            let v = m.forward(batch, true, 1.0, Some(Values::Shared)).unwrap().values.unwrap().tokens;
            let off: Vec<f32> = v.iter().zip(&target).map(|(v, t)| v - t).collect();
            losses.push(off[1..].iter().map(|x| x * x).sum::<f32>());
            m.backward(Some(&noise(40, 9)), None, Some(&off)).unwrap();
            let r = m.optim_step(OptimOptions { lr: None, value_lr: Some(0.03), ..step(0.0) }).unwrap();
            assert_eq!((r.share_weights_changed, r.non_finite), (0.0, 0));
            assert!(r.grad_norm > 0.0 && r.value_grad_norm.is_some_and(|g| g > 0.0));
        }
        let n = before.len() - 2;
        assert_eq!(weights(&m)[..n], before[..n]);
        assert_ne!(heads(&m), head);
        assert!(losses[19] < 0.7 * losses[0], "{losses:?}");
        assert_eq!((m.steps, m.value_head.as_ref().unwrap().steps), (1, 20));
        // Its next step is the one it would have made at once, the head staying where it is.
        let head = heads(&m);
        for m in [&mut m, &mut twin] {
            pass(m, sequences(&[tokens(40, 3)]), 39.0);
            m.optim_step(OptimOptions { value_lr: None, ..step(1e-2) }).unwrap();
        }
        assert_eq!(weights(&m)[..n], weights(&twin)[..n]);
        assert_eq!(heads(&m), head);
    }
}

#[test]
fn the_head_is_clipped_by_its_own_norm_and_its_bias_is_not_decayed() {
    let f = Folder::new("values-clip");
    let run = |scale: f32, max_grad_norm: f32| {
        let mut m = start(&f, true, 2);
        m.forward(shared_batch(), true, 1.0, Some(Values::Detached)).unwrap();
        let dv: Vec<f32> = noise(32, 2).iter().map(|x| x * scale).collect();
        m.backward(Some(&noise(32, 1)), None, Some(&dv)).unwrap();
        // So large an epsilon that a step is as long as its gradient.
        let o = OptimOptions { value_lr: Some(1e-2), eps: 1e3, max_grad_norm, weight_decay: 0.0, ..step(1e-2) };
        let r = m.optim_step(o).unwrap();
        (weights(&m), r)
    };
    let ((small, a), (large, b)) = (run(1.0, 0.5), run(100.0, 0.5));
    assert_eq!(a.grad_norm, b.grad_norm);
    assert!((b.value_grad_norm.unwrap() / a.value_grad_norm.unwrap() - 100.0).abs() < 1e-3);
    let n = small.len() - 2;
    assert_eq!(small[..n], large[..n], "the policy's step depends on the critic's gradient");
    same(&small[n..], &large[n..], 1e-6);
    assert_ne!(run(100.0, 0.0).0[n..], large[n..]);

    let mut m = start(&f, true, 2);
    let before = heads(&m);
    m.optim_step(OptimOptions { value_lr: Some(0.1), weight_decay: 0.5, ..step(0.0) }).unwrap();
    let after = heads(&m);
    assert!(after[0].iter().zip(&before[0]).all(|(a, b)| (a - 0.95 * b).abs() < 1e-6));
    assert_eq!(after[1], before[1]);
    m.optim_step(OptimOptions { value_lr: Some(0.1), weight_decay: 0.5, decay_all: true, ..step(0.0) }).unwrap();
    assert!((heads(&m)[1][0] - 0.95 * before[1][0]).abs() < 1e-6);
}

#[test]
fn one_non_finite_gradient_skips_both() {
    let f = Folder::new("values-nan");
    let mut m = start(&f, true, 2);
    let before = weights(&m);
    let both = OptimOptions { value_lr: Some(1e-2), ..step(1e-2) };
    for bad_values in [true, false] {
        let (good, mut bad) = (noise(32, 1), noise(32, 2));
        bad[20] = f32::INFINITY;
        m.forward(shared_batch(), true, 1.0, Some(Values::Detached)).unwrap();
        let (dlp, dv) = if bad_values { (&good, &bad) } else { (&bad, &good) };
        m.backward(Some(dlp), None, Some(dv)).unwrap();
        assert!(m.optim_step(both).unwrap().non_finite > 0);
        assert_eq!((weights(&m), m.steps, m.value_head.as_ref().unwrap().steps), (before.clone(), 0, 0));
    }
    assert!(gradients(&mut m).iter().flatten().all(|x| *x == 0.0));
}

fn names(path: &Path) -> Vec<String> {
    SafetensorsFile::open(path).unwrap().names().map(String::from).collect()
}

#[test]
fn saved_and_resumed_equals_going_on() {
    for full in [true, false] {
        let f = Folder::new(if full { "values-resume-full" } else { "values-resume-lora" });
        // Two steps of the critic alone come first, as in PPO.
        let train = |m: &mut Model<Cpu>, steps: std::ops::Range<u32>| -> Vec<Vec<u32>> {
            steps
                .map(|i| {
                    let rows = [tokens(40, i), tokens(25, i + 50)];
                    let s = m.forward(sequences(&rows), true, 1.0, Some(Values::Shared)).unwrap();
                    let v = s.values.unwrap().tokens;
                    let off: Vec<f32> = v.iter().map(|v| (v - 0.5) / 63.0).collect();
                    m.backward(Some(&[-1.0 / 63.0; 65]), None, Some(&off)).unwrap();
                    let lr = (i >= 2).then_some(1e-2);
                    m.optim_step(OptimOptions { lr, value_lr: Some(3e-2), ..step(0.0) }).unwrap();
                    v.iter().chain(&s.logprobs).map(|x| x.to_bits()).collect()
                })
                .collect()
        };
        for cut in [0, 1, 4] {
            let mut straight = start(&f, full, 2);
            let want = train(&mut straight, 0..6);
            let mut first = start(&f, full, 2);
            let mut got = train(&mut first, 0..cut);
            let out = Folder::new("values-resume-out");
            let state = out.0.join("optimizer.safetensors");
            first.save_state(&state).unwrap();
            let mut second = if full {
                first.save_weights(&out.0, Dtype::F32).unwrap();
                assert!(!names(&out.0.join("model.safetensors")).iter().any(|n| n.contains("value")));
                open(&out, true, 2)
            } else {
                first.save_adapter(&out.0).unwrap();
                assert!(!names(&out.0.join("adapter_model.safetensors")).iter().any(|n| n.contains("value")));
                let mut m = open(&f, false, 2);
                m.load_adapter(&out.0).unwrap();
                m
            };
            assert!(names(&state).iter().any(|n| n == "value_head.weight"));
            drop(first);
            second.load_state(&state).unwrap();
            got.extend(train(&mut second, cut..6));
            assert_eq!(want, got);
            assert_eq!(weights(&straight), weights(&second));
            // A head that is there already is replaced; a file without one leaves it.
            let mut third = open(&f, full, 2);
            third.attach_value_head().unwrap();
            third.save_state(&out.0.join("zero.safetensors")).unwrap();
            second.load_state(&out.0.join("zero.safetensors")).unwrap();
            assert!(heads(&second).iter().flatten().all(|x| *x == 0.0));
            let mut plain = open(&f, full, 2);
            plain.save_state(&out.0.join("plain.safetensors")).unwrap();
            fill_head(&mut second);
            let head = heads(&second);
            second.load_state(&out.0.join("plain.safetensors")).unwrap();
            assert_eq!(heads(&second), head);
        }
    }
}

#[test]
fn a_new_head_says_zero_and_misuse_is_named() {
    let f = Folder::new("values-misuse");
    let mut m = open(&f, true, 2);
    let batch = || sequences(&[tokens(10, 1)]);
    let values = Some(Values::Shared);
    assert!(m.forward(batch(), false, 1.0, values).is_err_and(|e| e.code == "no-value-head"));
    let code = |m: &mut Model<Cpu>, o: OptimOptions| m.optim_step(o).err().map(|e| e.code);
    let o = step(1e-2);
    assert_eq!(code(&mut m, OptimOptions { lr: None, ..o }), Some("no-value-head"));
    assert_eq!(code(&mut m, OptimOptions { value_lr: Some(0.1), ..o }), Some("no-value-head"));
    m.attach_value_head().unwrap();
    assert!(m.attach_value_head().is_err_and(|e| e.code == "value-head-exists"));
    let v = m.forward(batch(), true, 1.0, values).unwrap().values.unwrap();
    assert_eq!((&v.tokens[1..], &v.ends[..]), (&[0.0; 9][..], &[0.0][..]));
    let mut backward = |values: Option<Values>, [a, b, c]: [Option<&[f32]>; 3]| {
        m.forward(batch(), true, 1.0, values).unwrap();
        m.backward(a, b, c).err().map(|e| e.code)
    };
    let d = Some(&[0.0; 10][..]);
    assert_eq!(backward(None, [d, None, d]), Some("no-values"));
    assert_eq!(backward(values, [d, None, Some(&[0.0; 9])]), Some("bad-batch"));
    assert_eq!(backward(values, [None, d, d]), Some("bad-batch"));
    assert_eq!(backward(values, [d, d, d]), None);
    assert_eq!(code(&mut m, OptimOptions { lr: None, ..o }), Some("bad-config"));
    assert_eq!(code(&mut m, OptimOptions { value_lr: Some(f32::NAN), ..o }), Some("bad-config"));
    // A head on a model whose weights are not trained learns alone.
    let mut fixed = open(&f, false, 2);
    fixed.attach_value_head().unwrap();
    fixed.forward(batch(), true, 1.0, values).unwrap();
    fixed.backward(d, None, Some(&[1.0; 10])).unwrap();
    assert_eq!(code(&mut fixed, OptimOptions { value_lr: Some(0.1), ..o }), Some("nothing-to-train"));
    assert_eq!(code(&mut fixed, OptimOptions { lr: None, value_lr: Some(0.1), ..o }), None);
    assert!(heads(&fixed)[1][0] < -0.09);
}
