//! Opens the reference models and a real GGUF file; skipped, loudly, where the reference material is absent.

use hone_engine::formats::{Checkpoint, Dtype, SafetensorsFile};

use crate::support::shared;

#[test]
fn golden_folders_open_with_every_tensor() {
    for (name, tensors) in
        [("llama-tiny", 20), ("llama-rope-scaled", 21), ("qwen2-tiny", 26), ("qwen3-tiny", 24), ("gemma3-tiny", 41)]
    {
        let Some(folder) = shared(&format!("goldens/{name}")) else { return };
        let checkpoint = Checkpoint::open(&folder).unwrap();
        let file = SafetensorsFile::open(&folder.join("model.safetensors")).unwrap();
        let mut names = checkpoint.names();
        assert_eq!(names.len(), tensors, "{name}");
        names.sort();
        assert_eq!(names, file.names().collect::<Vec<_>>(), "{name}");
        let mut bytes = 0;
        for tensor in &names {
            let view = checkpoint.tensor(tensor).unwrap();
            assert_eq!(view.dtype, Dtype::F32);
            assert_eq!(view.to_f32().unwrap().len(), view.shape.iter().product::<usize>());
            bytes += view.bytes.len() as u64;
        }
        assert_eq!(checkpoint.weight_bytes, bytes);
        let error = checkpoint.tensor("model.layers.9.mlp.up_proj.weight").unwrap_err();
        assert_eq!(error.code, "missing-tensor");
    }
}

#[test]
fn the_unsupported_golden_is_refused_by_name() {
    let Some(folder) = shared("goldens/ling3-tiny") else { return };
    let error = Checkpoint::open(&folder).err().unwrap();
    assert_eq!(error.code, "unknown-architecture");
    assert!(error.message.contains("bailing_hybrid") && error.message.contains("qwen3"), "{error}");
}

#[test]
fn a_real_gguf_file_opens() {
    let Some(path) = shared("models/SmolLM2-135M-Instruct.Q4_1.gguf") else { return };
    let checkpoint = Checkpoint::open(&path).unwrap();
    let c = &checkpoint.config;
    assert_eq!((c.layers, c.hidden_size, c.heads, c.kv_heads, c.head_dim), (30, 576, 9, 3, 64));
    assert_eq!((c.vocab_size, c.intermediate_size, c.context_length), (49152, 1536, 8192));
    assert_eq!((c.rms_norm_eps, c.rope.theta, c.tied_embeddings), (1e-5, 1e5, true));
    assert_eq!((c.eos_token_ids.as_slice(), c.bos_token_id), ([2].as_slice(), Some(1)));
    assert!(!checkpoint.has("lm_head.weight"));
    for name in checkpoint.names() {
        let tensor = checkpoint.tensor(&name).unwrap();
        let values = tensor.to_f32().unwrap();
        let spread = values.iter().map(|x| x * x).sum::<f32>() / values.len() as f32;
        assert!(spread > 1e-6 && spread < 1e3, "{name}: mean square {spread}");
        assert!(tensor.bytes.is_mapped(), "{name} was copied");
    }
}
