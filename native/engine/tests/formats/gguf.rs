//! GGUF files: what the `gguf` package wrote, and what nobody should have written.

use std::path::Path;

use hone_engine::config::{Architecture, Llama3Scaling};
use hone_engine::error::Result;
use hone_engine::formats::{gguf_metadata_json, Bytes, Checkpoint, Dtype, GgufFile};
use serde_json::{json, Value};

use crate::support::{assert_refused, f32_bytes, fixture, gguf_array, gguf_text, Folder, Gguf};

fn parse(bytes: Vec<u8>) -> Result<GgufFile> {
    GgufFile::parse(Bytes::from(bytes), Path::new("m.gguf"))
}

fn fnv1a(bytes: impl Iterator<Item = u8>) -> String {
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[test]
fn whole_models_equal_what_the_gguf_package_reads() {
    for name in ["llama", "llama-v2", "llama-scaled", "qwen2", "qwen3", "gemma3"] {
        let checkpoint = Checkpoint::open(&fixture(&format!("gguf/{name}.gguf"))).unwrap();
        let expected = std::fs::read(fixture(&format!("gguf/{name}.expected.json"))).unwrap();
        let expected: serde_json::Map<String, Value> = serde_json::from_slice(&expected).unwrap();
        let mut names = checkpoint.names();
        names.sort();
        assert_eq!(names, expected.keys().cloned().collect::<Vec<_>>(), "{name}");
        for (tensor, want) in &expected {
            let view = checkpoint.tensor(tensor).unwrap();
            assert_eq!(&view.name, tensor);
            assert_eq!(json!(view.shape), want["shape"], "{name} {tensor}");
            assert_eq!(view.dtype.name(), want["type"], "{name} {tensor}");
            let values = view.to_f32().unwrap();
            let first: Vec<f32> = serde_json::from_value(want["first"].clone()).unwrap();
            assert_eq!(values[..3], first, "{name} {tensor}");
            assert_eq!(fnv1a(values.iter().flat_map(|x| x.to_le_bytes())), want["fnv1a"], "{name} {tensor}");
        }
    }
}

#[test]
fn configuration_comes_from_the_metadata() {
    let open = |name: &str| Checkpoint::open(&fixture(&format!("gguf/{name}.gguf"))).unwrap();
    let llama = open("llama");
    let c = &llama.config;
    assert_eq!(c.architecture, Architecture::Llama);
    assert_eq!((c.vocab_size, c.hidden_size, c.intermediate_size, c.layers), (48, 32, 64, 1));
    assert_eq!((c.heads, c.kv_heads, c.head_dim, c.context_length), (2, 1, 16, 256));
    assert_eq!((c.rms_norm_eps, c.rope.theta, c.rope.llama3), (1e-5, 500_000.0, None));
    assert_eq!((c.eos_token_ids.as_slice(), c.bos_token_id, c.tied_embeddings), ([47].as_slice(), Some(46), false));
    assert_eq!(llama.config_json["model_type"], "llama");
    assert_eq!(llama.config_json["rms_norm_eps"], 1e-5);
    assert!(open("llama-v2").config.tied_embeddings);

    let scaling =
        Llama3Scaling { factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position: 8192.0 };
    assert_eq!(open("llama-scaled").config.rope.llama3, Some(scaling));

    let qwen2 = open("qwen2").config;
    assert_eq!((qwen2.qkv_bias, qwen2.o_bias, qwen2.qk_norm), (true, false, false));
    assert!(open("qwen3").config.qk_norm);

    let gemma = open("gemma3");
    assert_eq!(gemma.config.window, [Some(8), None, Some(8)]);
    assert_eq!((gemma.config.rope.theta, gemma.config.rope_local.unwrap().theta), (500_000.0, 10_000.0));
    assert_eq!(gemma.config.attention_scale, 0.25);
    assert!(gemma.config.norm_plus_one);
    assert_eq!(gemma.config_json["model_type"], "gemma3_text");
}

#[test]
fn metadata_is_offered_whole() {
    let metadata = gguf_metadata_json(&fixture("gguf/llama.gguf")).unwrap();
    assert_eq!(metadata["general.architecture"], "llama");
    assert_eq!(metadata["llama.embedding_length"], 32);
    assert_eq!(metadata["llama.attention.layer_norm_rms_epsilon"], 1e-5);
    assert_eq!(metadata["tokenizer.ggml.tokens"].as_array().unwrap().len(), 48);
    assert_eq!(metadata["tokenizer.ggml.tokens"][45], "中");
    assert_eq!(metadata["tokenizer.ggml.token_type"][47], 3);
    assert_eq!(metadata["tokenizer.ggml.merges"], json!(["t 1", "t 2", "t1 0"]));
    assert_eq!(metadata["tokenizer.ggml.add_bos_token"], false);
    assert_eq!(metadata["tokenizer.chat_template"], "{% for m in messages %}{{ m.content }}\n{% endfor %}");
}

#[test]
fn every_metadata_type_is_read() {
    let nested = [gguf_array(4, 1, &7u32.to_le_bytes()), gguf_array(8, 2, &[gguf_text(b"a"), gguf_text(b"")].concat())];
    let file = Gguf::new()
        .raw("a.u8", 0, [200])
        .raw("a.i8", 1, [200])
        .raw("a.u16", 2, 60000u16.to_le_bytes())
        .raw("a.i16", 3, (-3i16).to_le_bytes())
        .raw("a.u32", 4, u32::MAX.to_le_bytes())
        .raw("a.i32", 5, (-5i32).to_le_bytes())
        .raw("a.f32", 6, 0.1f32.to_le_bytes())
        .raw("a.nan", 6, f32::NAN.to_le_bytes())
        .raw("a.bool", 7, [1])
        .raw("a.text", 8, gguf_text("é".as_bytes()))
        .raw("a.bytes", 8, gguf_text(&[b'x', 0xff]))
        .raw("a.nested", 9, gguf_array(9, 2, &nested.concat()))
        .raw("a.empty", 9, gguf_array(8, 0, &[]))
        .raw("a.u64", 10, u64::MAX.to_le_bytes())
        .raw("a.i64", 11, i64::MIN.to_le_bytes())
        .raw("a.f64", 12, 0.1f64.to_le_bytes());
    let metadata = parse(file.build()).unwrap().metadata_json().unwrap();
    let expected = json!({
        "a.u8": 200, "a.i8": -56, "a.u16": 60000, "a.i16": -3, "a.u32": u32::MAX, "a.i32": -5, "a.f32": 0.1,
        "a.nan": null, "a.bool": true, "a.text": "é", "a.bytes": "x\u{fffd}", "a.nested": [[7], ["a", ""]],
        "a.empty": [], "a.u64": u64::MAX, "a.i64": i64::MIN, "a.f64": 0.1,
    });
    assert_eq!(metadata, expected);
}

#[test]
fn what_is_not_a_readable_gguf_is_said() {
    assert_refused(parse(b"".to_vec()), "bad-header", &["m.gguf", "GGUF"]);
    assert_refused(parse(b"PK\x03\x04abcdefgh".to_vec()), "bad-header", &["not a GGUF file"]);
    assert_refused(parse(b"GGUF\0\0\0\x03".to_vec()), "big-endian", &["little-endian"]);
    for version in [0u32, 1, 4, 1000] {
        let mut file = Gguf::new();
        file.version = version;
        assert_refused(parse(file.build()), "unsupported-gguf-version", &[&version.to_string(), "2 and 3"]);
    }
    let split = Gguf::new().raw("split.count", 2, 3u16.to_le_bytes());
    assert_refused(parse(split.build()), "split-gguf", &["llama-gguf-split --merge"]);
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = std::fs::read(fixture("gguf/llama.gguf")).unwrap();
    assert!(parse(whole.clone()).is_ok());
    // Every length within header and tensor list, then some within the data; the last cut takes real weights away.
    for len in (0..2600).chain((2600..whole.len() - 64).step_by(997)).chain([whole.len() - 64]) {
        let error = parse(whole[..len].to_vec()).err().unwrap_or_else(|| panic!("cut to {len} bytes: accepted"));
        let expected = if len < 4 { "bad-header" } else { "truncated-file" };
        assert_eq!(error.code, expected, "cut to {len} bytes: {error}");
        assert!(error.message.contains("m.gguf") && error.message.contains("again"), "{error}");
    }
    let mut longer = whole;
    longer.extend([0; 4096]);
    assert_refused(parse(longer), "oversized-file", &["m.gguf"]);
}

#[test]
fn lengths_that_cannot_be_are_refused_before_memory_is_taken() {
    for huge in [1u64 << 30, 1 << 40, u64::MAX / 2, u64::MAX - 7, u64::MAX] {
        let mut file = Gguf::new();
        file.tensor_count = Some(huge);
        assert_refused(parse(file.build()), "truncated-file", &["m.gguf"]);
        let mut file = Gguf::new();
        file.pair_count = Some(huge);
        assert_refused(parse(file.build()), "truncated-file", &["m.gguf"]);
        for element in [0, 4, 8, 9, 10] {
            let file = Gguf::new().raw("a", 9, gguf_array(element, huge, &[]));
            assert_refused(parse(file.build()), "truncated-file", &["m.gguf"]);
        }
        let file = Gguf::new().raw("a", 8, huge.to_le_bytes());
        assert_refused(parse(file.build()), "truncated-file", &["m.gguf"]);
        let code = |dims: &[u64]| parse(Gguf::new().tensor("t", dims, 0, vec![0; 32]).build()).err().unwrap().code;
        assert!(["wrong-shape", "truncated-file", "bad-header"].contains(&code(&[huge])));
        assert!(["wrong-shape", "truncated-file", "bad-header"].contains(&code(&[huge, huge])));
        assert!(["wrong-shape", "truncated-file", "bad-header"].contains(&code(&[2, 2, huge, 4])));
        let mut file = Gguf::new().tensor("t", &[8], 0, vec![0; 32]);
        file.tensors[0].offset = Some(huge & !31);
        assert!(["truncated-file", "bad-header"].contains(&parse(file.build()).err().unwrap().code));
    }
}

#[test]
fn damaged_tables_are_refused_by_name() {
    let tensor = |name: &str| Gguf::new().tensor(name, &[8], 0, vec![0; 32]);
    let twice = tensor("weights.x").tensor("weights.x", &[8], 0, vec![0; 32]);
    assert_refused(parse(twice.build()), "duplicate-tensor", &["weights.x"]);
    let mut overlap = tensor("weights.x").tensor("weights.y", &[16], 0, vec![0; 64]);
    overlap.tensors[0].offset = Some(32);
    assert_refused(parse(overlap.build()), "overlapping-tensors", &["weights.x", "weights.y"]);
    let mut crooked = tensor("weights.x");
    crooked.tensors[0].offset = Some(3);
    assert_refused(parse(crooked.build()), "bad-header", &["weights.x", "multiple of 32"]);
    let deep = Gguf::new().tensor("weights.x", &[1, 1, 1, 1, 8], 0, vec![0; 32]);
    assert_refused(parse(deep.build()), "wrong-shape", &["weights.x", "5 dimensions"]);
    let broken = Gguf::new().tensor("weights.x", &[33], 8, vec![0; 34]);
    assert_refused(parse(broken.build()), "wrong-shape", &["weights.x", "Q8_0"]);
    let alien = Gguf::new().tensor("weights.x", &[8], 99, vec![0; 32]);
    assert_refused(parse(alien.build()), "unsupported-dtype", &["weights.x", "99"]);
    let key_twice = Gguf::new().u32("a.b", 1).u32("a.b", 2);
    assert_refused(parse(key_twice.build()), "bad-header", &["a.b", "twice"]);
    assert_refused(parse(Gguf::new().raw("a", 13, []).build()), "bad-header", &["type 13"]);
    for alignment in [0, 3, 1 << 30] {
        let file = tensor("t").u32("general.alignment", alignment);
        assert_refused(parse(file.build()), "bad-header", &["general.alignment"]);
    }
    let mut nested = gguf_array(4, 0, &[]);
    for _ in 0..2000 {
        nested = gguf_array(9, 1, &nested);
    }
    assert_refused(parse(Gguf::new().raw("a", 9, nested).build()), "bad-header", &["deep"]);
    let mut name = tensor("t");
    name.tensors[0].name = vec![0xff, 0xfe];
    assert_refused(parse(name.build()), "bad-header", &["UTF-8"]);
    let mut key = Gguf::new().u32("k", 1);
    key.pairs[0].0 = vec![0xff];
    assert_refused(parse(key.build()), "bad-header", &["UTF-8"]);
    let long = "n".repeat(100_000);
    assert_refused(parse(tensor(&long).tensor(&long, &[8], 0, vec![0; 32]).build()), "duplicate-tensor", &["nnn…"]);
}

#[test]
fn unreadable_types_are_refused_when_asked_for() {
    let file = parse(Gguf::new().tensor("weights.x", &[256], 23, vec![0; 136]).build()).unwrap();
    assert_refused(file.tensor("weights.x"), "unsupported-dtype", &["weights.x", "IQ4_XS", "Q4_K"]);
    assert_refused(file.tensor("weights.y"), "missing-tensor", &["weights.y"]);
}

#[test]
fn arrays_too_large_to_be_a_vocabulary_stay_in_the_file() {
    let count = (1u64 << 22) + 1;
    let file = Gguf::new().raw("a.big", 9, gguf_array(7, count, &vec![0; count as usize]));
    assert_refused(parse(file.build()).unwrap().metadata_json(), "metadata-too-large", &["a.big"]);
}

/// A one-layer llama in F32 with all metadata; each test spoils one thing.
fn small_llama() -> Gguf {
    let mut file = Gguf::new()
        .text("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.context_length", 16)
        .u32("llama.embedding_length", 8)
        .u32("llama.feed_forward_length", 8)
        .u32("llama.attention.head_count", 2)
        .u32("llama.attention.head_count_kv", 2)
        .raw("llama.attention.layer_norm_rms_epsilon", 6, 1e-5f32.to_le_bytes());
    for (name, dims) in [
        ("token_embd.weight", &[8u64, 8][..]),
        ("blk.0.attn_norm.weight", &[8]),
        ("blk.0.attn_q.weight", &[8, 8]),
        ("blk.0.attn_k.weight", &[8, 8]),
        ("blk.0.attn_v.weight", &[8, 8]),
        ("blk.0.attn_output.weight", &[8, 8]),
        ("blk.0.ffn_norm.weight", &[8]),
        ("blk.0.ffn_gate.weight", &[8, 8]),
        ("blk.0.ffn_up.weight", &[8, 8]),
        ("blk.0.ffn_down.weight", &[8, 8]),
        ("output_norm.weight", &[8]),
    ] {
        let elements = dims.iter().product::<u64>() as usize;
        file = file.tensor(name, dims, 0, f32_bytes(&vec![0.5; elements]));
    }
    file
}

fn open(file: &Gguf) -> Result<Checkpoint> {
    let folder = Folder::new();
    Checkpoint::open(&folder.put("model.gguf", file.build()))
}

#[test]
fn models_that_would_be_computed_wrongly_are_refused() {
    assert!(open(&small_llama()).is_ok());
    let changed = |key: &str, value: u32| {
        let mut file = small_llama();
        file.pairs.retain(|(k, ..)| k != key.as_bytes());
        file.u32(key, value)
    };
    let mut unknown = small_llama();
    unknown.pairs[0].2 = gguf_text(b"mamba");
    assert_refused(open(&unknown), "unknown-architecture", &["mamba", "llama, qwen2, qwen3, gemma3"]);
    let mut nameless = small_llama();
    nameless.pairs.remove(0);
    assert_refused(open(&nameless), "unknown-architecture", &["none given"]);
    let (sizes, attention) = (
        ["block_count", "context_length", "embedding_length", "feed_forward_length"],
        ["head_count", "layer_norm_rms_epsilon"],
    );
    for key in sizes.map(|k| format!("llama.{k}")).into_iter().chain(attention.map(|k| format!("llama.attention.{k}")))
    {
        let mut incomplete = small_llama();
        incomplete.pairs.retain(|(k, ..)| k != key.as_bytes());
        assert_refused(open(&incomplete), "bad-config", &[&key, "model.gguf"]);
    }
    assert_refused(open(&changed("llama.expert_count", 8)), "unsupported-config", &["experts"]);
    assert_refused(open(&changed("llama.rope.dimension_count", 2)), "wrong-shape", &["q_proj", "model.gguf"]);
    let partial = changed("llama.rope.dimension_count", 2).u32("llama.attention.key_length", 4);
    assert_refused(open(&partial), "unsupported-rope", &["2 of 4"]);
    let value_length = changed("llama.attention.value_length", 8);
    assert_refused(open(&value_length), "unsupported-config", &["value heads"]);
    let yarn = small_llama().text("llama.rope.scaling.type", "yarn");
    assert_refused(open(&yarn), "unsupported-rope", &["yarn", "linear and llama3"]);
    assert_refused(open(&changed("llama.embedding_length", 16)), "wrong-shape", &["model.embed_tokens.weight"]);
    assert_refused(open(&changed("llama.block_count", 2)), "missing-tensor", &["blk.1.attn_norm.weight"]);
    assert_refused(open(&changed("llama.block_count", u32::MAX)), "bad-config", &["num_hidden_layers"]);
    let half_biased = small_llama().tensor("blk.0.attn_q.bias", &[8], 0, f32_bytes(&[0.0; 8]));
    assert_refused(open(&half_biased), "unsupported-config", &["biases"]);
    let extra = small_llama().tensor("blk.0.attn_sinks.weight", &[8], 0, f32_bytes(&[0.0; 8]));
    assert_refused(open(&extra), "unexpected-tensor", &["blk.0.attn_sinks.weight"]);
    let mut headless = small_llama();
    headless.tensors.remove(0);
    assert_refused(open(&headless), "missing-tensor", &["token_embd.weight"]);
    let mut alien = small_llama();
    alien.tensors[2].type_id = 24;
    alien.tensors[2].data = vec![0; 64];
    assert_refused(open(&alien), "unsupported-dtype", &["blk.0.attn_q.weight", "I8"]);
    for factors in [vec![1.0, 3.0], vec![1.0, f32::NAN], vec![0.5, 8.0], vec![1.0; 3]] {
        let file = small_llama().tensor("rope_freqs.weight", &[factors.len() as u64], 0, f32_bytes(&factors));
        let code = open(&file).err().unwrap_or_else(|| panic!("{factors:?} accepted")).code;
        assert!(["unsupported-rope", "non-finite-weights"].contains(&code), "{code}");
    }
}

#[test]
fn linear_scaling_and_end_tokens_are_read() {
    let file = small_llama()
        .text("llama.rope.scaling.type", "linear")
        .raw("llama.rope.scaling.factor", 6, 4f32.to_le_bytes())
        .u32("tokenizer.ggml.eos_token_id", 3)
        .u32("tokenizer.ggml.eot_token_id", 5)
        .u32("tokenizer.ggml.eom_token_id", 3);
    let c = open(&file).unwrap().config;
    assert_eq!((c.rope.linear_factor, c.eos_token_ids, c.bos_token_id), (4.0, vec![3, 5], None));
}

/// Scalings no converter of today writes, but whose factors are a llama3 curve all the same.
#[test]
fn llama3_scaling_is_recovered_from_its_factors() {
    let (theta, head_dim): (f64, usize) = (500_000.0, 128);
    for (factor, high, original) in [(8.0, 4.0, 8192.0), (32.0, 4.0, 8192.0), (16.0, 4.0, 4096.0), (4.0, 2.0, 1024.0)] {
        let factors: Vec<f32> = (0..head_dim / 2)
            .map(|i| {
                let wavelength = 2.0 * std::f64::consts::PI * theta.powf(2.0 * i as f64 / head_dim as f64);
                let ramp = ((original / wavelength - 1.0) / (high - 1.0f64)).clamp(0.0, 1.0);
                (1.0 / ((1.0 - ramp) / factor + ramp)) as f32
            })
            .collect();
        let mut file = small_llama();
        file.pairs.retain(|(k, ..)| !k.starts_with(b"llama.attention.head_count"));
        file = file
            .u32("llama.attention.head_count", 1)
            .u32("llama.attention.key_length", 128)
            .raw("llama.rope.freq_base", 6, (theta as f32).to_le_bytes())
            .tensor("rope_freqs.weight", &[64], 0, f32_bytes(&factors));
        for tensor in &mut file.tensors {
            match tensor.name.as_slice() {
                b"blk.0.attn_q.weight" | b"blk.0.attn_k.weight" | b"blk.0.attn_v.weight" => tensor.dims = vec![8, 128],
                b"blk.0.attn_output.weight" => tensor.dims = vec![128, 8],
                _ => continue,
            }
            tensor.data = f32_bytes(&[0.5; 1024]);
        }
        let scaling = open(&file).unwrap().config.rope.llama3.unwrap();
        assert_eq!((scaling.factor as f64, scaling.low_freq_factor), (factor, 1.0));
        assert!((scaling.high_freq_factor as f64 - high).abs() < 1e-3, "{scaling:?}");
        assert!((scaling.original_max_position as f64 - original).abs() < 1.0, "{scaling:?}");
    }
}

#[test]
fn nan_scales_are_found_in_every_type() {
    let types = [(2, Dtype::Q4_0), (3, Dtype::Q4_1), (6, Dtype::Q5_0), (7, Dtype::Q5_1), (8, Dtype::Q8_0)];
    let wide = [(10, Dtype::Q2K), (11, Dtype::Q3K), (12, Dtype::Q4K), (13, Dtype::Q5K), (14, Dtype::Q6K)];
    let floats = [(0, Dtype::F32), (1, Dtype::F16), (30, Dtype::BF16)];
    for (id, dtype) in types.into_iter().chain(wide).chain(floats) {
        // Rows of 512, five of them; the fourth is spoiled. All-0x3c bytes are finite in every type.
        let size = dtype.tensor_bytes(&[512]).unwrap();
        let mut data = vec![0x3c; 5 * size];
        let good = parse(Gguf::new().tensor("w", &[512, 5], id, data.clone()).build()).unwrap();
        assert_eq!(good.tensor("w").unwrap().to_f32().unwrap().len(), 2560, "{}", dtype.name());
        let scale = match dtype {
            Dtype::Q2K => 82,
            Dtype::Q3K => 108,
            Dtype::Q6K => 208,
            Dtype::Q4_1 | Dtype::Q5_1 | Dtype::Q4K | Dtype::Q5K => 2,
            _ => 0,
        };
        data[3 * size + scale..][..dtype.block_bytes().min(4).min(2 + 2 * (dtype == Dtype::F32) as usize)].fill(0xff);
        let bad = parse(Gguf::new().tensor("w", &[512, 5], id, data).build()).unwrap();
        assert_refused(bad.tensor("w").unwrap().to_f32(), "non-finite-weights", &["Tensor w", "row 3"]);
    }
}
