//! `config.json` in both styles, and what is refused.

use hone_engine::config::{Activation, Architecture, Llama3Scaling, ModelConfig};
use hone_engine::config_read::config_from_json;
use hone_engine::error::Result;
use serde_json::{json, Value};

use crate::support::{assert_refused, fixture, shared};

const MODELS: [&str; 5] = ["llama-tiny", "llama-rope-scaled", "qwen2-tiny", "qwen3-tiny", "gemma3-tiny"];

fn load(path: &std::path::Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn read(config: &Value) -> Result<ModelConfig> {
    config_from_json(config, None, "config.json")
}

fn tiny(model: &str) -> Value {
    load(&fixture(&format!("configs/{model}.json")))
}

/// The model's config with one key changed.
fn with(model: &str, key: &str, value: Value) -> Value {
    let mut config = tiny(model);
    config[key] = value;
    config
}

#[test]
fn both_styles_mean_the_same() {
    for model in MODELS {
        let classic = read(&tiny(model)).unwrap();
        let v5 = read(&load(&fixture(&format!("configs/{model}.v5.json")))).unwrap();
        assert_eq!(classic, v5, "{model}");
    }
}

#[test]
fn the_golden_folders_hold_the_same_configs() {
    for model in MODELS {
        let Some(folder) = shared(&format!("goldens/{model}")) else { return };
        let expected = read(&tiny(model)).unwrap();
        for file in ["config.json", "config_v5.json"] {
            assert_eq!(read(&load(&folder.join(file))).unwrap(), expected, "{model}/{file}");
        }
    }
}

#[test]
fn values_are_those_of_the_files() {
    let c = read(&tiny("llama-rope-scaled")).unwrap();
    assert_eq!(c.architecture, Architecture::Llama);
    assert_eq!((c.vocab_size, c.hidden_size, c.intermediate_size, c.layers), (320, 64, 128, 2));
    assert_eq!((c.heads, c.kv_heads, c.head_dim, c.context_length), (4, 2, 16, 512));
    assert_eq!((c.tied_embeddings, c.qkv_bias, c.o_bias, c.qk_norm), (false, false, false, false));
    assert_eq!((c.attention_scale, c.embedding_scale, c.rms_norm_eps), (0.25, 1.0, 1e-5));
    assert_eq!((c.eos_token_ids, c.bos_token_id), (vec![2], Some(1)));
    let scaling =
        Llama3Scaling { factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position: 64.0 };
    assert_eq!(c.rope.llama3, Some(scaling));

    let c = read(&tiny("qwen2-tiny")).unwrap();
    assert_eq!((c.qkv_bias, c.o_bias, c.head_dim, c.rope.theta), (true, false, 16, 1e6));

    let c = read(&tiny("qwen3-tiny")).unwrap();
    assert_eq!((c.qk_norm, c.head_dim, c.attention_scale), (true, 24, 24f64.powf(-0.5) as f32));

    let c = read(&tiny("gemma3-tiny")).unwrap();
    assert_eq!(c.window, [Some(16), None, Some(16)]);
    assert_eq!((c.rope.theta, c.rope_local.unwrap().theta), (1e6, 1e4));
    assert_eq!((c.attention_scale, c.embedding_scale), (20f64.powf(-0.5) as f32, 8.0));
    assert_eq!((c.norm_plus_one, c.post_norms, c.qk_norm, c.activation), (true, true, true, Activation::GeluTanh));
}

#[test]
fn what_is_left_out_has_the_default_of_transformers() {
    let mut config = json!({
        "model_type": "llama", "vocab_size": 10, "hidden_size": 64, "intermediate_size": 8,
        "num_hidden_layers": 12, "num_attention_heads": 4,
    });
    let c = read(&config).unwrap();
    assert_eq!((c.kv_heads, c.head_dim, c.rope.theta, c.context_length), (4, 16, 1e4, 2048));
    assert_eq!((c.eos_token_ids, c.bos_token_id, c.tied_embeddings), (vec![2], Some(1), false));
    config["model_type"] = json!("qwen3");
    let c = read(&config).unwrap();
    assert_eq!((c.head_dim, c.eos_token_ids, c.bos_token_id), (128, vec![], None));
    config["model_type"] = json!("gemma3_text");
    let c = read(&config).unwrap();
    assert_eq!((c.head_dim, c.attention_scale, c.tied_embeddings, c.rope.theta), (256, 1.0 / 16.0, true, 1e6));
    let global: Vec<usize> = (0..12).filter(|&layer| c.window[layer].is_none()).collect();
    assert_eq!(global, [5, 11]);
    assert_eq!(c.window[0], Some(4096));
    config["sliding_window_pattern"] = json!(2);
    config["sliding_window"] = json!(7);
    assert_eq!(read(&config).unwrap().window[..4], [Some(7), None, Some(7), None]);
}

#[test]
fn sliding_windows_of_qwen_need_their_switch() {
    for model in ["qwen2-tiny", "qwen3-tiny"] {
        let mut config = with(model, "sliding_window", json!(32));
        config["max_window_layers"] = json!(1);
        assert_eq!(read(&config).unwrap().window, [None, None]);
        config["use_sliding_window"] = json!(true);
        assert_eq!(read(&config).unwrap().window, [None, Some(32)]);
        config["layer_types"] = json!(["sliding_attention", "full_attention"]);
        assert_eq!(read(&config).unwrap().window, [Some(32), None]);
        config["layer_types"] = json!(["sliding_attention"]);
        assert_refused(read(&config), "bad-config", &["layer_types", "2 layers"]);
        config["layer_types"] = json!(["linear_attention", "full_attention"]);
        assert_refused(read(&config), "unsupported-config", &["linear_attention"]);
        config["layer_types"] = json!(["sliding_attention", "full_attention"]);
        config["sliding_window"] = Value::Null;
        assert_refused(read(&config), "bad-config", &["sliding_window"]);
    }
}

#[test]
fn rope_kinds() {
    let rope = |value: Value| read(&with("llama-tiny", "rope_scaling", value)).map(|c| c.rope);
    assert_eq!(rope(json!({"type": "linear", "factor": 4.0})).unwrap().linear_factor, 4.0);
    assert_eq!(rope(json!({"rope_type": "default"})).unwrap().linear_factor, 1.0);
    for kind in ["yarn", "dynamic", "longrope", "su", "mrope"] {
        assert_refused(rope(json!({"rope_type": kind, "factor": 2.0})), "unsupported-rope", &[kind, "llama3"]);
    }
    assert_refused(rope(json!({"rope_type": "linear"})), "bad-config", &["factor"]);
    assert_refused(rope(json!({"rope_type": "llama3", "factor": 8.0})), "bad-config", &["low_freq_factor"]);
    let flat = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64});
    assert_refused(rope(flat), "bad-config", &["high_freq_factor"]);
    assert_refused(rope(json!("yarn")), "bad-config", &["rope_scaling"]);

    // Gemma 3 4B and up: linear scaling of the full layers only, in both styles.
    let classic = read(&with("gemma3-tiny", "rope_scaling", json!({"rope_type": "linear", "factor": 8.0}))).unwrap();
    assert_eq!((classic.rope.linear_factor, classic.rope_local.unwrap().linear_factor), (8.0, 1.0));
    let mut v5 = load(&fixture("configs/gemma3-tiny.v5.json"));
    v5["rope_parameters"]["full_attention"] = json!({"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6});
    assert_eq!(read(&v5).unwrap(), classic);
}

#[test]
fn end_tokens_of_both_files_in_order_once() {
    let generation = json!({"eos_token_id": [5, 2]});
    let read = |config: &Value| config_from_json(config, Some(&generation), "config.json").unwrap().eos_token_ids;
    assert_eq!(read(&with("llama-tiny", "eos_token_id", json!([2, 7]))), [2, 7, 5]);
    assert_eq!(read(&with("llama-tiny", "eos_token_id", Value::Null)), [5, 2]);
    assert_eq!(read(&tiny("qwen2-tiny")), [2, 5]);
}

#[test]
fn unknown_models_and_settings_are_refused_by_name() {
    let known = ["llama", "qwen2", "qwen3", "gemma3_text"];
    for model in ["mamba", "gemma3", "qwen3_moe"] {
        let error =
            assert_refused(read(&with("llama-tiny", "model_type", json!(model))), "unknown-architecture", &known);
        assert!(error.message.contains(model));
    }
    assert_refused(read(&with("llama-tiny", "model_type", Value::Null)), "unknown-architecture", &known);
    for (key, value) in [
        ("mlp_bias", json!(true)),
        ("use_bidirectional_attention", json!(true)),
        ("attn_logit_softcapping", json!(50.0)),
        ("final_logit_softcapping", json!(30.0)),
        ("partial_rotary_factor", json!(0.5)),
    ] {
        assert_refused(read(&with("llama-tiny", key, value)), "unsupported-config", &[key]);
    }
    let quantized = json!({"quant_method": "gptq"});
    assert_refused(
        read(&with("llama-tiny", "quantization_config", quantized)),
        "unsupported-config",
        &["gptq", "GGUF"],
    );
    assert_refused(read(&with("llama-tiny", "hidden_act", json!("relu"))), "unsupported-config", &["relu", "silu"]);
}

#[test]
fn impossible_values_are_refused_with_their_key() {
    let huge = json!(1e300);
    for (key, value) in [
        ("hidden_size", json!(0)),
        ("hidden_size", json!(-64)),
        ("hidden_size", json!(64.5)),
        ("hidden_size", json!("64")),
        ("vocab_size", json!(u64::MAX)),
        ("num_hidden_layers", json!(1_000_000_000)),
        ("num_attention_heads", huge.clone()),
        ("num_key_value_heads", json!(3)),
        ("head_dim", json!(15)),
        ("head_dim", json!(1 << 20)),
        ("rms_norm_eps", json!(-1.0)),
        ("rms_norm_eps", json!(2.0)),
        ("rope_theta", json!(0)),
        ("rope_theta", huge),
        ("tie_word_embeddings", json!("yes")),
        ("eos_token_id", json!(-1)),
        ("eos_token_id", json!([1, "2"])),
        ("eos_token_id", json!(vec![1; 2000])),
        ("bos_token_id", json!(1u64 << 40)),
        ("max_position_embeddings", json!(0)),
        ("model_type", json!(["llama"])),
    ] {
        let named = if key == "num_key_value_heads" { "key-value heads" } else { key };
        assert_refused(read(&with("llama-tiny", key, value)), "bad-config", &[named, "config.json"]);
    }
    for key in ["hidden_size", "vocab_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"] {
        assert_refused(read(&with("llama-tiny", key, Value::Null)), "bad-config", &[key]);
    }
    assert_refused(read(&json!([])), "bad-config", &["config.json"]);
    let long = "x".repeat(100_000);
    assert_refused(read(&with("llama-tiny", "rope_theta", json!(long))), "bad-config", &["rope_theta"]);
}

#[test]
fn attention_bias_adds_all_four_biases() {
    for model in ["llama-tiny", "qwen3-tiny", "gemma3-tiny"] {
        let c = read(&with(model, "attention_bias", json!(true))).unwrap();
        assert_eq!((c.qkv_bias, c.o_bias), (true, true));
    }
}
