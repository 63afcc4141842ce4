//! What training promises: accumulation equals one batch, packing equals padding-free single rows, a shared prefix equals its
//! copies, recompute equals keeping, resume equals going on, bad gradients are skipped.

#[path = "../levels/mod.rs"]
mod levels;
mod support;
mod values;

use hone_engine::cpu::Cpu;
use hone_engine::device::Device;
use hone_engine::layout::Layout;
use hone_engine::model::{Batch, MemoryPlan, Model};
use support::*;

#[test]
fn a_batch_equals_its_rows_accumulated() {
    let f = Folder::new("accumulate");
    let rows: Vec<_> = (0..8).map(|i| tokens(5 + 7 * i, i as u32)).collect();
    let n = rows.iter().map(|r| r.len() - 1).sum::<usize>() as f32;
    let (mut whole, mut parts) = (open(&f, true, 2), open(&f, true, 2));
    let a = pass(&mut whole, sequences(&rows), n);
    let b: f64 = rows.iter().map(|r| pass(&mut parts, sequences(std::slice::from_ref(r)), n)).sum();
    assert!((a - b).abs() < 1e-6);
    same(&gradients(&mut whole), &gradients(&mut parts), 2e-6);
}

#[test]
fn a_packed_row_scores_bit_for_bit_as_alone() {
    let f = Folder::new("packed");
    let rows: Vec<_> = (0..6).map(|i| tokens(3 + 11 * i, i as u32)).collect();
    let mut m = open(&f, true, 2);
    let all = m.forward(sequences(&rows), false, 1.0, None).unwrap();
    let mut at = 0;
    for r in &rows {
        let one = m.forward(sequences(std::slice::from_ref(r)), false, 1.0, None).unwrap();
        assert_eq!(one.logprobs[1..], all.logprobs[at + 1..at + r.len()]);
        at += r.len();
    }
}

#[test]
fn a_shared_prefix_equals_copies_of_it() {
    let f = Folder::new("prefix");
    for full in [true, false] {
        let (mut shared, mut copied) = (open(&f, full, 2), open(&f, full, 2));
        if !full {
            lora(&mut shared, 0.0);
            lora(&mut copied, 0.0);
        }
        let prompt = tokens(70, 1);
        let answers: Vec<_> = (0..5).map(|i| tokens(1 + 9 * i, 10 + i as u32)).collect();
        let n = answers.iter().map(Vec::len).sum::<usize>() as f32;
        let mut segments = vec![(prompt.len(), None)];
        segments.extend(answers.iter().map(|a| (a.len(), Some(0))));
        let ids = [prompt.clone(), answers.concat()].concat();
        let mut mask = vec![0u8; prompt.len()];
        mask.resize(ids.len(), 1);
        let a = pass(&mut shared, Batch { ids, layout: Layout::new(&segments).unwrap(), mask }, n);
        let rows: Vec<_> = answers.iter().map(|a| [prompt.clone(), a.clone()].concat()).collect();
        let mut batch = sequences(&rows);
        batch.mask = rows.iter().flat_map(|r| (0..r.len()).map(|i| u8::from(i >= prompt.len()))).collect();
        let b = pass(&mut copied, batch, n);
        assert!((a - b).abs() < 1e-6, "{a} {b}");
        same(&gradients(&mut shared), &gradients(&mut copied), 5e-6);
    }
}

#[test]
fn recompute_and_thread_count_change_nothing() {
    let f = Folder::new("recompute");
    let rows: Vec<_> = (0..4).map(|i| tokens(90 + i, i as u32)).collect();
    let mut keep = open(&f, true, 2);
    let mut again = open(&f, true, 2);
    again.recompute = true;
    let mut single = open(&f, true, 1);
    let losses = [&mut keep, &mut again, &mut single].map(|m| pass(m, sequences(&rows), 300.0));
    assert_eq!(losses[0], losses[1]);
    assert_eq!(losses[0], losses[2]);
    let g = gradients(&mut keep);
    assert_eq!(g, gradients(&mut again));
    assert_eq!(g, gradients(&mut single));
}

#[test]
fn gradients_match_finite_differences_of_logprob_and_entropy() {
    let f = Folder::new("finite");
    for use_lora in [false, true] {
        let mut m = open(&f, !use_lora, 2);
        if use_lora {
            lora(&mut m, 0.0);
            fill_lora_b(&mut m);
        }
        let rows = vec![tokens(9, 1), tokens(14, 2)];
        let temperature = 1.3;
        let loss = |m: &mut Model<Cpu>| -> f64 {
            let s = m.forward(sequences(&rows), false, temperature, None).unwrap();
            s.logprobs
                .iter()
                .zip(&s.entropy)
                .enumerate()
                .filter(|(_, (l, _))| !l.is_nan())
                .map(|(i, (l, e))| f64::from(*l) * (0.3 + 0.1 * i as f64) + f64::from(*e) * 0.5)
                .sum()
        };
        m.forward(sequences(&rows), true, temperature, None).unwrap();
        let n = 23;
        let dlp: Vec<f32> = (0..n).map(|i| 0.3 + 0.1 * i as f32).collect();
        m.backward(Some(&dlp), Some(&[0.5; 23]), None).unwrap();
        let grads = gradients(&mut m);
        check_slopes(&mut m, &grads, loss);
    }
}

#[test]
fn saved_and_resumed_equals_going_on() {
    for use_lora in [false, true] {
        let f = Folder::new(if use_lora { "resume-lora" } else { "resume-full" });
        let start = |f: &Folder| {
            let mut m = open(f, !use_lora, 2);
            if use_lora {
                lora(&mut m, 0.1);
            }
            m
        };
        let train = |m: &mut Model<Cpu>, from: u32, to: u32| -> Vec<f64> {
            (from..to)
                .map(|i| {
                    let l = pass(m, sequences(&[tokens(40, i), tokens(25, i + 50)]), 63.0);
                    m.optim_step(step(1e-2)).unwrap();
                    l
                })
                .collect()
        };
        let mut straight = start(&f);
        let want = train(&mut straight, 0, 6);
        let mut first = start(&f);
        let mut got = train(&mut first, 0, 3);
        let out = Folder::new(if use_lora { "resume-lora-out" } else { "resume-full-out" });
        first.save_state(&out.0.join("optimizer.safetensors")).unwrap();
        let mut second = if use_lora {
            first.save_adapter(&out.0).unwrap();
            let mut m = open(&f, false, 2);
            m.load_adapter(&out.0).unwrap();
            m
        } else {
            first.save_weights(&out.0, hone_engine::formats::Dtype::F32).unwrap();
            open(&out, true, 2)
        };
        drop(first);
        second.load_state(&out.0.join("optimizer.safetensors")).unwrap();
        got.extend(train(&mut second, 3, 6));
        assert_eq!(want, got);
        let (a, b) = (weights(&straight), weights(&second));
        assert_eq!(a, b);
        assert_ne!(a, weights(&start(&f)));
        assert!(second.load_state(&f.0.join("model.safetensors")).is_err_and(|e| e.code == "bad-state"));
    }
}

#[test]
fn adapters_train_and_the_base_does_not() {
    let f = Folder::new("adapter");
    let mut m = open(&f, false, 2);
    let batch = || sequences(&[tokens(40, 1)]);
    assert!(m.forward(batch(), true, 1.0, None).is_err_and(|e| e.code == "nothing-to-train"));
    let base = m.forward(batch(), false, 1.0, None).unwrap();
    lora(&mut m, 0.0);
    assert_eq!(m.forward(batch(), false, 1.0, None).unwrap().logprobs[1..], base.logprobs[1..]);
    let before: Vec<(String, Vec<f32>)> =
        m.params().map(|p| (p.name.clone(), m.dev.matrix_download(&p.data).unwrap())).collect();
    for _ in 0..3 {
        pass(&mut m, batch(), 39.0);
        assert!(m.optim_step(step(1e-2)).unwrap().share_weights_changed > 0.5);
    }
    for (p, (name, old)) in m.params().zip(&before) {
        let changed = m.dev.matrix_download(&p.data).unwrap() != *old;
        assert_eq!(changed, name.contains("lora_"), "{name}");
    }
    let tuned = m.forward(batch(), false, 1.0, None).unwrap();
    assert_ne!(tuned.logprobs[1..], base.logprobs[1..]);
    m.lora_on = false;
    assert_eq!(m.forward(batch(), false, 1.0, None).unwrap().logprobs[1..], base.logprobs[1..]);
    m.lora_on = true;
    m.merge_lora().unwrap();
    let merged = m.forward(batch(), false, 1.0, None).unwrap();
    for (a, b) in merged.logprobs.iter().zip(&tuned.logprobs).skip(1) {
        assert!((a - b).abs() < 1e-4);
    }
    let out = Folder::new("merged");
    m.save_weights(&out.0, hone_engine::formats::Dtype::F32).unwrap();
    let names: Vec<String> = hone_engine::formats::SafetensorsFile::open(&out.0.join("model.safetensors"))
        .unwrap()
        .names()
        .map(String::from)
        .collect();
    assert!(!names.iter().any(|n| n == "lm_head.weight"), "a tied head stays tied");
    let mut again = open(&out, false, 2);
    assert_eq!(again.forward(batch(), false, 1.0, None).unwrap().logprobs[1..], merged.logprobs[1..]);
}

#[test]
fn non_finite_gradients_skip_the_step_and_say_so() {
    let f = Folder::new("nan");
    let mut m = open(&f, true, 2);
    let before = weights(&m);
    m.forward(sequences(&[tokens(10, 1)]), true, 1.0, None).unwrap();
    m.backward(Some(&[f32::NAN; 10]), None, None).unwrap();
    let r = m.optim_step(step(1e-2)).unwrap();
    assert!(r.non_finite > 0);
    assert_eq!(weights(&m), before);
    pass(&mut m, sequences(&[tokens(10, 1)]), 9.0);
    assert_eq!(m.optim_step(step(1e-2)).unwrap().non_finite, 0);
    assert_ne!(weights(&m), before);
}

#[test]
fn bad_batches_are_named() {
    let f = Folder::new("bad");
    let mut m = open(&f, true, 2);
    let mut code = |b: Batch, t: f32| m.forward(b, true, t, None).err().map(|e| e.code);
    assert_eq!(code(sequences(&[vec![1, 97]]), 1.0), Some("bad-token"));
    assert_eq!(code(sequences(&[vec![1, -1]]), 1.0), Some("bad-token"));
    assert_eq!(code(sequences(&[vec![1; 300]]), 1.0), Some("too-long"));
    assert_eq!(code(sequences(&[vec![1; 3]]), 0.0), Some("bad-temperature"));
    assert_eq!(code(Batch { mask: vec![1], ..sequences(&[vec![1; 3]]) }, 1.0), Some("bad-batch"));
    assert_eq!(code(Batch { ids: vec![1], ..sequences(&[vec![1; 3]]) }, 1.0), Some("bad-batch"));
    assert!(m.backward(Some(&[0.0]), None, None).is_err_and(|e| e.code == "no-forward"));
}

#[test]
fn memory_is_bounded_and_refused_with_numbers() {
    let f = Folder::new("limit");
    let mut m = open(&f, true, 2);
    let plan = MemoryPlan { tokens: 240, targets: 239, ..Default::default() };
    let estimate = m.estimate_memory(plan);
    m.memory_limit = estimate.total() - 1;
    pass(&mut m, sequences(&[tokens(240, 1)]), 239.0); // recomputes its layers instead
    m.memory_limit = estimate.weights;
    let e = m.forward(sequences(&[tokens(240, 1)]), true, 1.0, None).err().unwrap();
    assert_eq!(e.code, "out-of-memory");
    assert!(e.message.contains("MiB"));
}
