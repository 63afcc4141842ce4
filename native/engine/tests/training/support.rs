//! A small model and the pieces of a training step.

use hone_engine::cpu::Cpu;
use hone_engine::device::Device;
use hone_engine::formats::Checkpoint;
use hone_engine::layout::Layout;
use hone_engine::model::{create_model, Batch, LoraConfig, Model, OptimOptions, Param};
use std::path::PathBuf;
use std::sync::Arc;

pub const CONFIG: &str = r#"{"architectures":["LlamaForCausalLM"],"model_type":"llama","vocab_size":97,"hidden_size":48,"intermediate_size":80,
"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":12,"rms_norm_eps":1e-5,"rope_theta":10000.0,
"tie_word_embeddings":true,"max_position_embeddings":256,"hidden_act":"silu","torch_dtype":"float32","initializer_range":0.15}"#;

pub struct Folder(pub PathBuf);
impl Folder {
    pub fn new(name: &str) -> Self {
        let p = std::env::temp_dir().join(format!("hone-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&p);
        std::fs::create_dir_all(&p).unwrap();
        Self(p)
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn open(folder: &Folder, full: bool, threads: usize) -> Model<Cpu> {
    if !folder.0.join("config.json").exists() {
        create_model(&folder.0, CONFIG, 7).unwrap();
    }
    let file = Checkpoint::open(&folder.0).unwrap();
    Model::load(Arc::new(Cpu::new(threads)), &file, full, &mut |_, _| {}).unwrap()
}

pub fn tokens(n: usize, seed: u32) -> Vec<i32> {
    let mut s = seed.wrapping_mul(747796405).wrapping_add(2891336453);
    (0..n)
        .map(|_| {
            s = s.wrapping_mul(1664525).wrapping_add(1013904223);
            (s >> 16) as i32 % 97
        })
        .collect()
}

/// The value head's are the last two, where there is one.
pub fn gradients(m: &mut Model<Cpu>) -> Vec<Vec<f32>> {
    let mut out = Vec::new();
    for_each_trained(m, |dev, p| {
        let mut host = vec![0.0; p.len()];
        dev.download(p.grad().unwrap(), &mut host);
        out.push(host);
    });
    out
}

pub fn weights(m: &Model<Cpu>) -> Vec<Vec<f32>> {
    let head = m.value_head.iter().flat_map(|v| v.params());
    m.params().chain(head).map(|p| m.dev.matrix_download(&p.data).unwrap()).collect()
}

pub fn same(a: &[Vec<f32>], b: &[Vec<f32>], tol: f32) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        let scale = y.iter().fold(1e-3f32, |m, v| m.max(v.abs()));
        for (p, q) in x.iter().zip(y) {
            assert!((p - q).abs() <= tol * scale, "{p} {q} (scale {scale})");
        }
    }
}

pub fn sequences(rows: &[Vec<i32>]) -> Batch {
    Batch {
        ids: rows.concat(),
        layout: Layout::sequences(&rows.iter().map(Vec::len).collect::<Vec<_>>()).unwrap(),
        mask: vec![],
    }
}

pub fn step(lr: f32) -> OptimOptions {
    OptimOptions {
        lr: Some(lr),
        value_lr: None,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.01,
        max_grad_norm: 1.0,
        decay_all: false,
    }
}

pub fn lora(m: &mut Model<Cpu>, dropout: f32) {
    let modules =
        ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"].map(String::from).to_vec();
    m.attach_lora(LoraConfig { r: 4, alpha: 8.0, dropout, target_modules: modules, seed: 3 }).unwrap();
}

/// B starts at zero, which would hide A's gradient.
pub fn fill_lora_b(m: &mut Model<Cpu>) {
    m.for_each_param(|dev, p| {
        if p.name.contains("lora_B") {
            fill(dev, p, 0.2);
        }
    });
}

/// Random numbers within ±size / 2.
pub fn fill(dev: &Cpu, p: &mut Param<Cpu>, size: f32) {
    let (len, mut s) = (p.len(), p.len() as u32);
    for w in &mut dev.matrix_buf_mut(&mut p.data).unwrap()[..len] {
        s = s.wrapping_mul(1664525).wrapping_add(1013904223);
        *w = ((s >> 8) as f32 / (1 << 24) as f32 - 0.5) * size;
    }
}

/// The gradient of every trained parameter against finite differences of the loss along it: dL = |g|² h.
#[track_caller]
pub fn check_slopes(m: &mut Model<Cpu>, grads: &[Vec<f32>], loss: impl Fn(&mut Model<Cpu>) -> f64) {
    for (k, g) in grads.iter().enumerate() {
        let norm: f64 = g.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        if norm < 1e-3 {
            continue;
        }
        let h = 2e-3;
        let mut moved = |sign: f64| {
            let mut i = 0;
            for_each_trained(m, |dev, p| {
                if i == k {
                    let w = dev.matrix_buf_mut(&mut p.data).unwrap();
                    w.iter_mut().zip(g).for_each(|(w, g)| *w += (sign * h * f64::from(*g) / norm) as f32);
                }
                i += 1;
            });
            loss(m)
        };
        let up = moved(1.0);
        let down = moved(-2.0);
        moved(1.0);
        let slope = (up - down) / (2.0 * h);
        assert!((slope - norm).abs() < 2e-2 * norm + 2e-2, "parameter {k}: slope {slope}, gradient {norm}");
    }
}

/// The trained parameters, the value head's behind the others.
pub fn for_each_trained(m: &mut Model<Cpu>, mut f: impl FnMut(&Cpu, &mut Param<Cpu>)) {
    m.for_each_param(|dev, p| {
        if p.trained() {
            f(dev, p);
        }
    });
    let dev = m.dev.clone();
    m.value_head.iter_mut().flat_map(|v| v.params_mut()).for_each(|p| f(&dev, p));
}

/// Mean loss over all scored tokens; adds to the gradients.
pub fn pass(m: &mut Model<Cpu>, b: Batch, n: f32) -> f64 {
    let len = b.ids.len();
    let s = m.forward(b, true, 1.0, None).unwrap();
    m.backward(Some(&vec![-1.0 / n; len]), Some(&vec![-0.01 / n; len]), None).unwrap();
    s.logprobs.iter().filter(|x| !x.is_nan()).map(|x| -f64::from(*x) / f64::from(n)).sum()
}
