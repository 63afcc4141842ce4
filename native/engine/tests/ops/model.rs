//! Whole models on the reference device and on the CPU: the same code, so the same numbers. This is what a new device has to
//! pass as well.

use crate::support::{close, ids, noise};
use hone_engine::cpu::Cpu;
use hone_engine::device::Device;
use hone_engine::formats::Checkpoint;
use hone_engine::layout::Layout;
use hone_engine::model::{create_model, Batch, LoraConfig, Model, OptimOptions, Param, Values};
use hone_engine::reference::Reference;
use hone_engine::request::{SampleEvent, SampleJob, SampleRequest, Stream};
use hone_engine::sampler::Sampler;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/fixtures").join(path)
}

#[derive(Clone, Copy, PartialEq)]
enum Train {
    No,
    Full,
    Lora,
}

/// Named results of one model.
struct Outcome {
    scores: Vec<Vec<f32>>,
    gradients: Vec<(String, Vec<f32>)>,
    weights: Vec<(String, Vec<f32>)>,
    greedy: Vec<i32>,
    greedy_logprobs: Vec<f32>,
}

fn greedy<D: Device>(m: &mut Model<D>, prompt: Vec<i32>) -> (Vec<i32>, Vec<f32>) {
    let mut sampler = Sampler::new(m, 64 << 20);
    let out = Arc::new(Mutex::new(None));
    let to = out.clone();
    let request = SampleRequest { prompt, max_tokens: 20, temperature: 0.0, ..Default::default() };
    let sink = Box::new(move |e| match e {
        SampleEvent::Done(s) => *to.lock().unwrap() = Some(s),
        SampleEvent::Failed(e) => panic!("{e}"),
        _ => {}
    });
    sampler.submit(m, SampleJob { requests: vec![request], stream: Stream::default(), cancel: Arc::default(), sink });
    while !sampler.idle() {
        sampler.step(m);
    }
    let mut samples = out.lock().unwrap().take().unwrap();
    let s = samples.remove(0);
    (s.tokens, s.logprobs)
}

fn outcome<D: Device>(dev: D, path: &Path, train: Train) -> Outcome {
    let file = Checkpoint::open(path).unwrap();
    let mut m = Model::load(Arc::new(dev), &file, train == Train::Full, &mut |_, _| {}).unwrap();
    let vocab = m.config.vocab_size;
    if train == Train::Lora {
        let modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
        let modules = modules.map(String::from).to_vec();
        m.attach_lora(LoraConfig { r: 3, alpha: 6.0, dropout: 0.2, target_modules: modules, seed: 5 }).unwrap();
    }
    let layout = Layout::new(&[(9, None), (5, Some(0)), (30, None), (7, Some(0)), (1, None)]).unwrap();
    let tokens = ids(layout.rows(), vocab, 3);
    let n = tokens.len();
    let read = |m: &Model<D>, buf: &D::Buf, len: usize| {
        let mut out = vec![0.0; len];
        m.dev.download(buf, &mut out);
        out
    };
    let logits = m.logits(&tokens, &layout);
    let mut scores = vec![read(&m, &logits, n * vocab)];
    for h in m.hidden_states(&tokens, &layout) {
        scores.push(read(&m, &h, n * m.config.hidden_size));
    }
    let mut gradients = Vec::new();
    if train != Train::No {
        // The second step of an adapter is the first in which all its weights have a gradient.
        m.attach_value_head().unwrap();
        for step in 0..2 {
            let batch = Batch { ids: tokens.clone(), layout: layout.clone(), mask: vec![] };
            let s = m.forward(batch, true, 0.8, Some(Values::Shared)).unwrap();
            let v = s.values.unwrap();
            let known = |x: Vec<f32>| x.into_iter().filter(|x| !x.is_nan()).collect::<Vec<f32>>();
            scores.extend([known(s.logprobs), known(s.entropy), known(v.tokens), v.ends]);
            scores.push(s.correct.iter().map(|&x| f32::from(x)).collect());
            let [dlp, dentropy, dvalues] = [10, 20, 30].map(|seed| noise(n, seed + step));
            m.backward(Some(&dlp), Some(&dentropy), Some(&dvalues)).unwrap();
            let mut note = |dev: &D, p: &mut Param<D>| {
                let (name, len) = (format!("{} step {step}", p.name), p.len());
                if let Some(g) = p.grad() {
                    let mut host = vec![0.0; len];
                    dev.download(g, &mut host);
                    gradients.push((name, host));
                }
            };
            m.for_each_param(&mut note);
            let dev = m.dev.clone();
            m.value_head.iter_mut().flat_map(|v| v.params_mut()).for_each(|p| note(&dev, p));
            // So large an epsilon that a gradient of almost 0 makes a step of almost 0.
            let o = OptimOptions {
                lr: Some(0.01),
                value_lr: Some(0.02),
                beta1: 0.9,
                beta2: 0.99,
                eps: 0.1,
                weight_decay: 0.1,
                max_grad_norm: 1.0,
                decay_all: false,
            };
            m.optim_step(o).unwrap();
        }
    }
    let head = m.value_head.iter().flat_map(|v| v.params());
    let weights = m.params().chain(head).map(|p| (p.name.clone(), m.dev.matrix_download(&p.data).unwrap())).collect();
    let (greedy, greedy_logprobs) = greedy(&mut m, tokens[..21].to_vec());
    Outcome { scores, gradients, weights, greedy, greedy_logprobs }
}

fn check(what: &str, path: &Path, train: Train) {
    let want = outcome(Reference, path, train);
    let got = outcome(Cpu::new(2), path, train);
    close(what, &got.scores, &want.scores, 2e-5, 0.0);
    assert_eq!(want.gradients.is_empty(), train == Train::No);
    for (got, want) in [(&got.gradients, &want.gradients), (&got.weights, &want.weights)] {
        assert_eq!(got.len(), want.len());
        for ((name, got), (other, want)) in got.iter().zip(want) {
            assert_eq!(name, other);
            let norm = |x: &[f32]| x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            let off: Vec<f32> = got.iter().zip(want).map(|(a, b)| a - b).collect();
            let relative = norm(&off) / (norm(want) + 1e-20);
            assert!(relative < 1e-5, "{what}: {name} is off by {relative:e}");
        }
    }
    assert_eq!(got.greedy, want.greedy, "{what}: greedy tokens");
    close(what, &[got.greedy_logprobs], &[want.greedy_logprobs], 1e-5, 1.0);
}

#[test]
fn llama_tiny() {
    let path = fixture("goldens/llama-tiny");
    for train in [Train::No, Train::Full, Train::Lora] {
        check("llama-tiny", &path, train);
    }
}

/// Random weights for every architecture: biases, norms of heads, windows, tied and separate heads.
#[test]
fn every_architecture() {
    for name in ["llama-rope-scaled", "qwen2-tiny", "qwen3-tiny", "gemma3-tiny"] {
        let config = std::fs::read_to_string(fixture(&format!("configs/{name}.json"))).unwrap();
        let folder = std::env::temp_dir().join(format!("hone-ops-{name}-{}", std::process::id()));
        create_model(&folder, &config, 11).unwrap();
        for train in [Train::Full, Train::Lora] {
            check(name, &folder, train);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// Quantised weights, rows in GGUF's order.
#[test]
fn gguf_files() {
    for name in ["llama", "llama-v2", "llama-scaled", "qwen2", "qwen3", "gemma3"] {
        for train in [Train::No, Train::Lora] {
            check(name, &fixture(&format!("gguf/{name}.gguf")), train);
        }
    }
}
