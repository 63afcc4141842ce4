//! Memory of the whole process, measured in a program of its own: other tests beside it would count too.

use hone_engine::cpu::Cpu;
use hone_engine::formats::Checkpoint;
use hone_engine::model::{create_model, Model};
use hone_engine::request::{SampleJob, SampleRequest, Stream};
use hone_engine::session::Session;
use std::sync::mpsc::channel;
use std::sync::Arc;

const CONFIG: &str = r#"{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","vocab_size":97,"hidden_size":48,"intermediate_size":80,
"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":12,"rms_norm_eps":1e-5,"rope_theta":10000.0,
"tie_word_embeddings":true,"max_position_embeddings":256,"hidden_act":"silu","torch_dtype":"float32"}"#;

/// Resident memory of this process in bytes; None where the system does not tell.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = text.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(kib.trim().strip_suffix(" kB")?.parse::<usize>().ok()? << 10)
}

#[test]
fn open_and_close_fifty_times_leaves_no_memory_behind() {
    let folder = std::env::temp_dir().join(format!("hone-memory-{}", std::process::id()));
    create_model(&folder, CONFIG, 7).unwrap();
    let cycle = || {
        let (tx, rx) = channel();
        let t = tx.clone();
        let path = folder.clone();
        let load = move || Model::load(Arc::new(Cpu::new(2)), &Checkpoint::open(&path)?, true, &mut |_, _| {});
        let session = Session::open(load, |_| 8 << 20, |_| (), move |r| t.send(r.is_ok()).unwrap());
        assert!(rx.recv().unwrap());
        let request = SampleRequest { prompt: (0..90).collect(), n: 16, max_tokens: 24, ..Default::default() };
        let sink = Box::new(|_| {});
        session.sample(SampleJob { requests: vec![request], stream: Stream::default(), cancel: Arc::default(), sink });
        let t = tx.clone();
        session.close(move || t.send(true).unwrap());
        rx.recv().unwrap();
    };
    (0..10).for_each(|_| cycle());
    let Some(before) = resident() else { return };
    (0..50).for_each(|_| cycle());
    let after = resident().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(after < before + (8 << 20), "resident memory grew from {before} to {after}");
}
