//! Whole models against numbers made with PyTorch and transformers (see the goldens' README for tolerances).
//! `llama-tiny` is in the repository; the others are read from the shared folder and skipped, loudly, where it is absent.

mod levels;

use hone_engine::cpu::Cpu;
use hone_engine::device::{AdamW, Device};
use hone_engine::formats::{Checkpoint, SafetensorsFile};
use hone_engine::layout::Layout;
use hone_engine::model::{Batch, Model, OptimOptions};
use hone_engine::request::{SampleEvent, SampleJob, SampleRequest, Stream};
use hone_engine::sampler::Sampler;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn golden(name: &str) -> Option<PathBuf> {
    let repo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let here = repo.join("test/fixtures/goldens").join(name);
    if here.exists() {
        return Some(here);
    }
    let shared =
        std::env::var("HONE_SHARED").map_or_else(|_| repo.join("../shared"), PathBuf::from).join("goldens").join(name);
    if shared.exists() {
        return Some(shared);
    }
    eprintln!("SKIPPED: golden model {name} is not on this machine ({})", shared.display());
    None
}

struct Golden {
    file: SafetensorsFile,
    batch: usize,
    width: usize,
    ids: Vec<i32>,
    lengths: Vec<usize>,
    prompt: usize,
}

impl Golden {
    fn open(path: &Path) -> Self {
        let file = SafetensorsFile::open(path).unwrap();
        let shape = file.shape("input_ids").unwrap().to_vec();
        let ints = |n: &str| file.read_i64(n).unwrap();
        let ids = ints("input_ids").iter().map(|&i| i as i32).collect();
        let lengths = ints("lengths").iter().map(|&i| i as usize).collect();
        let prompt = file.read_i64("prompt_lengths").map_or(0, |p| p[0] as usize);
        Self { batch: shape[0], width: shape[1], ids, lengths, prompt, file }
    }
    fn floats(&self, name: &str) -> Vec<f32> {
        self.file.tensor(name).unwrap().to_f32().unwrap()
    }
    /// The two rows packed, padding left out.
    fn packed(&self) -> (Vec<i32>, Layout) {
        let ids =
            (0..self.batch).flat_map(|b| self.ids[b * self.width..b * self.width + self.lengths[b]].to_vec()).collect();
        (ids, Layout::sequences(&self.lengths).unwrap())
    }
    /// (packed row, golden row) of every real token.
    fn rows(&self) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let mut at = 0;
        for b in 0..self.batch {
            for t in 0..self.lengths[b] {
                out.push((at, b * self.width + t));
                at += 1;
            }
        }
        out
    }
    /// dL/dlogprob for the packed tokens: L = −Σ w·lp / N.
    fn loss_gradient(&self) -> (Vec<f32>, Vec<f64>) {
        let w = self.floats("weights");
        let n = w.iter().filter(|x| **x != 0.0).count() as f64;
        let mut d = Vec::new();
        for b in 0..self.batch {
            d.push(0.0);
            d.extend((0..self.lengths[b] - 1).map(|t| -f64::from(w[b * (self.width - 1) + t]) / n));
        }
        (d.iter().map(|&x| x as f32).collect(), d)
    }
}

fn open(dir: &Path, full: bool) -> Model<Cpu> {
    let file = Checkpoint::open(dir).unwrap();
    Model::load(Arc::new(Cpu::new(2)), &file, full, &mut |_, _| {}).unwrap()
}

fn close(name: &str, got: &[f32], want: &[f32], tol: f32) {
    assert_eq!(got.len(), want.len(), "{name}");
    let worst =
        got.iter()
            .zip(want)
            .map(|(a, b)| (a - b).abs())
            .fold(0f32, |m, d| if d.is_nan() { f32::INFINITY } else { m.max(d) });
    assert!(worst <= tol, "{name}: off by {worst:e}, allowed {tol:e}");
}

fn relative(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    let d: f64 = got.iter().zip(want).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    let w: f64 = want.iter().map(|b| f64::from(*b).powi(2)).sum();
    (d / w.max(1e-30)).sqrt()
}

fn download(m: &Model<Cpu>, buf: &<Cpu as Device>::Buf, len: usize) -> Vec<f32> {
    let mut out = vec![0.0; len];
    m.dev.download(buf, &mut out);
    out
}

fn step_options() -> OptimOptions {
    OptimOptions {
        lr: Some(1e-3),
        value_lr: None,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.01,
        max_grad_norm: 1.0,
        decay_all: true,
    }
}

fn forward_backward(m: &mut Model<Cpu>, g: &Golden) -> (Vec<f32>, Vec<f32>, f64) {
    let (ids, layout) = g.packed();
    let s = m.forward(Batch { ids, layout, mask: vec![] }, true, 1.0, None).unwrap();
    let (d, exact) = g.loss_gradient();
    m.backward(Some(&d), None, None).unwrap();
    let loss = s.logprobs.iter().zip(&exact).filter(|(_, w)| **w != 0.0).map(|(l, w)| f64::from(*l) * w).sum();
    (s.logprobs, s.entropy, loss)
}

fn gradients(m: &mut Model<Cpu>) -> Vec<(String, Vec<f32>)> {
    let mut out = Vec::new();
    m.for_each_param(|dev, p| {
        let (name, len) = (p.name.clone(), p.len());
        if let Some(g) = p.grad() {
            let mut host = vec![0.0; len];
            dev.download(g, &mut host);
            out.push((name, host));
        }
    });
    out
}

fn check_after(m: &Model<Cpu>, g: &Golden, prefix: &str) {
    let (mut exceeded, mut total) = (0, 0);
    for p in m.params().filter(|p| p.trained()) {
        let want = g.floats(&format!("{prefix}.{}", p.name));
        let got = m.dev.matrix_download(&p.data).unwrap();
        for (a, b) in got.iter().zip(&want) {
            let d = (a - b).abs();
            assert!(d <= 2.1e-3, "{prefix}.{}: {a} {b}", p.name);
            exceeded += usize::from(d > 1e-5);
            total += 1;
        }
    }
    assert!(exceeded as f64 <= total as f64 * 1e-3, "{prefix}: {exceeded} of {total} off by more than 1e-5");
}

fn check_training(mut m: Model<Cpu>, g: &Golden, three: bool) {
    let (lp, en, loss) = forward_backward(&mut m, g);
    for b in 0..g.batch {
        let start: usize = g.lengths[..b].iter().sum();
        let n = g.lengths[b] - 1;
        let at = b * (g.width - 1);
        close("logprobs", &lp[start + 1..start + 1 + n], &g.floats("logprobs")[at..at + n], 5e-5);
        close("entropy", &en[start + 1..start + 1 + n], &g.floats("entropy")[at..at + n], 5e-5);
        assert!(lp[start].is_nan());
    }
    assert!((loss - f64::from(g.floats("loss")[0])).abs() < 1e-5, "loss {loss}");
    let grads = gradients(&mut m);
    assert!(!grads.is_empty());
    for (name, got) in &grads {
        let r = relative(got, &g.floats(&format!("grad.{name}")));
        assert!(r < 1e-4, "grad.{name}: relative error {r:e}");
    }
    let r = m.optim_step(step_options()).unwrap();
    let want = f64::from(g.floats("grad_norm")[0]);
    assert!((r.grad_norm - want).abs() < want * 1e-4, "{} {want}", r.grad_norm);
    assert_eq!(r.non_finite, 0);
    assert!(r.share_weights_changed > 0.9);
    check_after(&m, g, "after");
    if three {
        for _ in 0..2 {
            forward_backward(&mut m, g);
            m.optim_step(step_options()).unwrap();
        }
        check_after(&m, g, "after3");
    }
}

/// The optimizer alone: stored gradients in, stored weights out.
fn check_adamw(m: &Model<Cpu>, g: &Golden) {
    let dev = &*m.dev;
    let norm = f64::from(g.floats("grad_norm")[0]);
    let clip = (1.0 / (norm + 1e-6)).min(1.0) as f32;
    for p in m.params() {
        let len = p.len();
        let mut w = dev.upload(&dev.matrix_download(&p.data).unwrap());
        let grad = dev.upload(&g.floats(&format!("grad.{}", p.name)));
        let (mut mm, mut vv) = (dev.zeros(len), dev.zeros(len));
        let o = AdamW { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01, step: 1, grad_scale: clip };
        dev.adamw(&mut w, &grad, &mut mm, &mut vv, len, o);
        close(&p.name, &download(m, &w, len), &g.floats(&format!("after.{}", p.name)), 1e-6);
    }
}

fn greedy(m: &mut Model<Cpu>, prompt: &[i32], n: usize) -> (Vec<i32>, Vec<f32>) {
    let mut sampler = Sampler::new(m, 64 << 20);
    let done = Arc::new(Mutex::new(None));
    let out = done.clone();
    let request = SampleRequest { prompt: prompt.to_vec(), max_tokens: n, temperature: 0.0, ..Default::default() };
    sampler.submit(
        m,
        SampleJob {
            requests: vec![request],
            stream: Stream::default(),
            cancel: Arc::default(),
            sink: Box::new(move |e| match e {
                SampleEvent::Done(s) => *out.lock().unwrap() = Some(s),
                SampleEvent::Failed(e) => panic!("{e}"),
                _ => {}
            }),
        },
    );
    while !sampler.idle() {
        sampler.step(m);
    }
    let s = done.lock().unwrap().take().unwrap().remove(0);
    (s.tokens, s.logprobs)
}

fn check_model(name: &str) {
    let Some(dir) = golden(name) else { return };
    let g = Golden::open(&dir.join("golden.safetensors"));
    for full in [false, true] {
        let mut m = open(&dir, full);
        let (ids, layout) = g.packed();
        let (h, v) = (m.config.hidden_size, m.config.vocab_size);
        let hidden = m.hidden_states(&ids, &layout);
        for (i, buf) in hidden.iter().enumerate() {
            let got = download(&m, buf, ids.len() * h);
            let want = g.floats(&format!("hidden.{i}"));
            for (p, r) in g.rows() {
                close(&format!("hidden.{i} row {r}"), &got[p * h..(p + 1) * h], &want[r * h..(r + 1) * h], 1e-4);
            }
        }
        let logits = m.logits(&ids, &layout);
        let got = download(&m, &logits, ids.len() * v);
        let want = g.floats("logits");
        for (p, r) in g.rows() {
            close(&format!("logits row {r}"), &got[p * v..(p + 1) * v], &want[r * v..(r + 1) * v], 1e-4);
        }
        let want: Vec<i32> = g.file.read_i64("greedy").unwrap().iter().map(|&i| i as i32).collect();
        let (tokens, logprobs) = greedy(&mut m, &g.ids[..g.prompt], want.len());
        assert_eq!(tokens, want, "{name}: greedy tokens");
        // The sampler's log-probs are those of a forward pass over the same tokens.
        let mut ids = g.ids[..g.prompt].to_vec();
        ids.extend(&tokens);
        let layout = Layout::sequences(&[ids.len()]).unwrap();
        let s = m.forward(Batch { ids, layout, mask: vec![] }, false, 1.0, None).unwrap();
        close("sampler log-probs", &logprobs, &s.logprobs[g.prompt..], 1e-4);
    }
    check_adamw(&open(&dir, true), &g);
    check_training(open(&dir, true), &g, g.file.names().any(|n| n.starts_with("after3.")));
    let mut again = open(&dir, true);
    again.recompute = true;
    check_training(again, &g, false);
}

#[test]
fn llama_tiny() {
    check_model("llama-tiny");
}
#[test]
fn llama_rope_scaled() {
    check_model("llama-rope-scaled");
}
#[test]
fn qwen2_tiny() {
    check_model("qwen2-tiny");
}
#[test]
fn qwen3_tiny() {
    check_model("qwen3-tiny");
}
#[test]
fn gemma3_tiny() {
    check_model("gemma3-tiny");
}

#[test]
fn lora() {
    let Some(dir) = golden("llama-tiny") else { return };
    let g = Golden::open(&dir.join("lora/golden.safetensors"));
    let mut m = open(&dir, false);
    m.load_adapter(&dir.join("lora")).unwrap();
    let (ids, layout) = g.packed();
    let v = m.config.vocab_size;
    let logits = m.logits(&ids, &layout);
    let got = download(&m, &logits, ids.len() * v);
    let want = g.floats("logits");
    for (p, r) in g.rows() {
        close(&format!("logits row {r}"), &got[p * v..(p + 1) * v], &want[r * v..(r + 1) * v], 1e-4);
    }
    let mut merged = open(&dir, false);
    merged.load_adapter(&dir.join("lora")).unwrap();
    merged.merge_lora().unwrap();
    let logits = merged.logits(&ids, &layout);
    close("merged logits", &download(&merged, &logits, ids.len() * v), &got, 1e-4);
    check_training(m, &g, false);
}

/// SmolLM2-135M as its GGUF file: top-10 logits, log-probs of the prompt and greedy tokens, on the quantised weights.
#[test]
fn smollm2_q4_1() {
    let Some(dir) = golden("smollm2") else { return };
    let gguf = dir.join("../../models/SmolLM2-135M-Instruct.Q4_1.gguf");
    if !gguf.exists() {
        eprintln!("SKIPPED: {} is not on this machine", gguf.display());
        return;
    }
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("golden.json")).unwrap()).unwrap();
    let forward = &json["forward"];
    let ints = |v: &serde_json::Value| -> Vec<i32> {
        v.as_array().unwrap().iter().map(|i| i.as_i64().unwrap() as i32).collect()
    };
    let prompt = ints(&forward["prompt_ids"]);
    let mut m = open(&gguf, false);
    let v = m.config.vocab_size;
    let layout = Layout::sequences(&[prompt.len()]).unwrap();
    let logits = m.logits(&prompt, &layout);
    let last = download(&m, &logits, prompt.len() * v).split_off((prompt.len() - 1) * v);
    let mut order: Vec<usize> = (0..v).collect();
    order.sort_by(|&a, &b| last[b].total_cmp(&last[a]));
    for (rank, want) in forward["last_top10"].as_array().unwrap().iter().enumerate() {
        let id = want["id"].as_u64().unwrap() as usize;
        assert_eq!(order[rank], id, "rank {rank}");
        assert!((f64::from(last[id]) - want["logit"].as_f64().unwrap()).abs() < 1e-3, "logit of {id}");
    }
    let scores = m.forward(Batch { ids: prompt.clone(), layout, mask: vec![] }, false, 1.0, None).unwrap();
    for (t, want) in forward["prompt_logprobs"].as_array().unwrap().iter().enumerate() {
        assert!(
            (f64::from(scores.logprobs[t + 1]) - want.as_f64().unwrap()).abs() < 1e-3,
            "log-prob of token {}",
            t + 1
        );
    }
    let want = ints(&forward["greedy_ids"]);
    assert_eq!(greedy(&mut m, &prompt, want.len()).0, want);
}
