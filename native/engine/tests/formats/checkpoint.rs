//! Whole model folders: shards, tied heads, and files that do not belong together.

use hone_engine::error::Result;
use hone_engine::formats::{check_finite, expected_tensors, write_safetensors, Checkpoint, Dtype, TensorOut};
use serde_json::{json, Value};

use crate::support::{assert_refused, fixture, safetensors, Folder};

const INDEX: &str = "model.safetensors.index.json";

fn config() -> Value {
    json!({
        "model_type": "llama", "vocab_size": 6, "hidden_size": 8, "intermediate_size": 4, "num_hidden_layers": 1,
        "num_attention_heads": 2, "tie_word_embeddings": true, "max_position_embeddings": 32,
    })
}

type Tensors = Vec<(String, Vec<usize>, Vec<f32>)>;

fn tensors(config: &Value) -> Tensors {
    let config = hone_engine::config_read::config_from_json(config, None, "config.json").unwrap();
    expected_tensors(&config)
        .into_iter()
        .enumerate()
        .map(|(i, (name, shape))| {
            let elements = shape.iter().product::<usize>();
            (name, shape, vec![i as f32 + 0.5; elements])
        })
        .collect()
}

fn write(folder: &Folder, file: &str, tensors: &Tensors) {
    let out: Vec<TensorOut> =
        tensors.iter().map(|(name, shape, data)| TensorOut { name, shape, data, dtype: Dtype::F32 }).collect();
    write_safetensors(&folder.path().join(file), &out, &[]).unwrap();
}

fn folder_of(config: &Value, tensors: &Tensors) -> Folder {
    let folder = Folder::new();
    folder.put("config.json", config.to_string());
    write(&folder, "model.safetensors", tensors);
    folder
}

fn open(folder: &Folder) -> Result<Checkpoint> {
    Checkpoint::open(folder.path())
}

#[test]
fn a_folder_opens_and_keeps_its_config() {
    let mut config = config();
    config["custom"] = json!({"kept": true});
    let folder = folder_of(&config, &tensors(&config));
    folder.put("generation_config.json", r#"{"eos_token_id": [2, 4]}"#);
    let checkpoint = open(&folder).unwrap();
    assert_eq!(checkpoint.config_json, config);
    assert_eq!(checkpoint.config.eos_token_ids, [2, 4]);
    assert_eq!(checkpoint.path, folder.path());
    assert_eq!(checkpoint.names()[0], "model.embed_tokens.weight");
    assert!(checkpoint.has("model.norm.weight") && !checkpoint.has("lm_head.weight"));
    let floats: usize = tensors(&config).iter().map(|(_, _, data)| data.len()).sum();
    assert_eq!(checkpoint.weight_bytes, 4 * floats as u64);
    assert_eq!(checkpoint.tensor("model.norm.weight").unwrap().to_f32().unwrap(), [10.5; 8]);
    assert_refused(checkpoint.tensor("lm_head.weight"), "missing-tensor", &["lm_head.weight"]);
}

#[test]
fn shards_open_like_one_file() {
    let config = config();
    let all = tensors(&config);
    let folder = Folder::new();
    folder.put("config.json", config.to_string());
    let (first, second) = all.split_at(5);
    write(&folder, "model-00001-of-00002.safetensors", &first.to_vec());
    write(&folder, "model-00002-of-00002.safetensors", &second.to_vec());
    let shard = |i: usize| format!("model-0000{}-of-00002.safetensors", if i < 5 { 1 } else { 2 });
    let map: serde_json::Map<String, Value> =
        all.iter().enumerate().map(|(i, (name, ..))| (name.clone(), json!(shard(i)))).collect();
    let index = |map: &serde_json::Map<String, Value>| {
        folder.put(INDEX, json!({"metadata": {"total_size": 1}, "weight_map": map}).to_string());
        open(&folder)
    };
    let checkpoint = index(&map).unwrap();
    for (name, shape, data) in &all {
        let view = checkpoint.tensor(name).unwrap();
        assert_eq!((&view.shape, &view.to_f32().unwrap()), (shape, data));
    }

    let mut wrong = map.clone();
    wrong.insert("model.norm.weight".into(), json!(shard(0)));
    assert_refused(index(&wrong), "missing-tensor", &["model-00001", "model.norm.weight", INDEX]);
    let mut short = map.clone();
    short.remove("model.norm.weight");
    assert_refused(index(&short), "missing-tensor", &["model.norm.weight"]);
    std::fs::remove_file(folder.path().join(shard(9))).unwrap();
    assert_refused(index(&map), "missing-shard", &["model-00002-of-00002.safetensors"]);
}

#[test]
fn shard_names_stay_in_the_folder() {
    let outside = folder_of(&config(), &tensors(&config()));
    let stolen = outside.path().join("model.safetensors");
    let folder = Folder::new();
    folder.put("config.json", config().to_string());
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::copy(&stolen, folder.path().join("sub/x.safetensors")).unwrap();
    let upwards = format!("../{}/model.safetensors", outside.path().file_name().unwrap().to_str().unwrap());
    for shard in [
        stolen.to_str().unwrap(),
        &upwards,
        "sub/x.safetensors",
        "./sub/../sub/x.safetensors",
        "..",
        ".",
        "",
        "/",
        "..\\x.safetensors",
        "C:x.safetensors",
        "\\\\host\\share\\x.safetensors",
        ".hidden.safetensors",
        "x\0.safetensors",
        "config.json",
        INDEX, // an index naming itself
        &format!("{}.safetensors", "n".repeat(5000)),
    ] {
        folder.put(INDEX, json!({"weight_map": {"model.norm.weight": shard}}).to_string());
        assert_refused(open(&folder), "bad-index", &[INDEX, "same folder"]);
    }
}

#[test]
#[cfg(unix)]
fn links_into_a_download_cache_are_followed() {
    let cache = folder_of(&config(), &tensors(&config()));
    let folder = Folder::new();
    for file in ["config.json", "model.safetensors"] {
        std::os::unix::fs::symlink(cache.path().join(file), folder.path().join(file)).unwrap();
    }
    assert!(open(&folder).is_ok());
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    std::os::unix::fs::symlink("model.safetensors", folder.path().join("model.safetensors")).unwrap();
    assert_refused(open(&folder), "not-a-checkpoint", &[]);
}

#[test]
fn absurd_indexes_are_refused() {
    let folder = Folder::new();
    folder.put("config.json", config().to_string());
    let refused = |text: &str, code: &str, mentions: &[&str]| {
        folder.put(INDEX, text);
        assert_refused(open(&folder), code, mentions);
    };
    refused("", "bad-index", &[INDEX]);
    refused("[]", "bad-index", &[INDEX]);
    refused("{}", "bad-index", &["weight_map"]);
    refused(r#"{"weight_map": []}"#, "bad-index", &[]);
    refused(r#"{"weight_map": {"a": 1}}"#, "bad-index", &[]);
    refused(r#"{"weight_map": {"a": {"b": "c"}}}"#, "bad-index", &[]);
    refused(r#"{"weight_map": {"t.x": "a.safetensors", "t.x": "b.safetensors"}}"#, "bad-index", &["t.x", "twice"]);
    refused(r#"{"weight_map": {"t.x": "absent.safetensors"}}"#, "missing-shard", &["absent.safetensors"]);
    refused(r#"{"weight_map": {}}"#, "missing-tensor", &["model.embed_tokens.weight"]);
    refused(&format!("{}{}", "{\"metadata\":", "[".repeat(100_000)), "bad-index", &[]);
    refused(&" ".repeat((32 << 20) + 1), "file-too-large", &[INDEX]);
}

#[test]
fn a_tied_model_stays_tied_unless_its_head_differs() {
    let mut all = tensors(&config());
    let (_, shape, data) = all[0].clone();
    all.push(("lm_head.weight".into(), shape.clone(), data.clone()));
    let same = open(&folder_of(&config(), &all)).unwrap();
    assert!(same.config.tied_embeddings && !same.has("lm_head.weight"));
    assert_eq!(same.config_json["tie_word_embeddings"], true);

    all.last_mut().unwrap().2[3] = 9.0;
    let other = open(&folder_of(&config(), &all)).unwrap();
    assert!(!other.config.tied_embeddings && other.has("lm_head.weight"));
    assert_eq!(other.config_json["tie_word_embeddings"], false);
    assert_eq!(other.tensor("lm_head.weight").unwrap().to_f32().unwrap()[3], 9.0);
}

#[test]
fn weights_that_do_not_fit_the_config_are_refused() {
    let all = tensors(&config());
    for i in 0..all.len() {
        let mut short = all.clone();
        let (name, ..) = short.remove(i);
        assert_refused(open(&folder_of(&config(), &short)), "missing-tensor", &[&name, "again"]);
        let mut wrong = all.clone();
        wrong[i].1.push(1);
        assert_refused(open(&folder_of(&config(), &wrong)), "wrong-shape", &[&name, "config"]);
    }
    let mut transposed = all.clone();
    assert_eq!(transposed[7].0, "model.layers.0.mlp.gate_proj.weight");
    transposed[7].1.reverse();
    assert_refused(open(&folder_of(&config(), &transposed)), "wrong-shape", &["[8, 4]", "[4, 8]"]);
    let mut untied = config();
    untied["tie_word_embeddings"] = json!(false);
    assert_refused(open(&folder_of(&untied, &all)), "missing-tensor", &["lm_head.weight"]);

    let mut biased = all.clone();
    biased.push(("model.layers.0.self_attn.q_proj.bias".into(), vec![8], vec![0.0; 8]));
    assert_refused(open(&folder_of(&config(), &biased)), "unexpected-tensor", &["q_proj.bias"]);
    let mut deeper = all.clone();
    deeper.push(("model.layers.1.input_layernorm.weight".into(), vec![8], vec![0.0; 8]));
    assert_refused(open(&folder_of(&config(), &deeper)), "unexpected-tensor", &["model.layers.1."]);
    let mut harmless = all.clone();
    harmless.push(("model.layers.0.self_attn.rotary_emb.inv_freq".into(), vec![2], vec![0.0; 2]));
    harmless.push(("score.weight".into(), vec![2], vec![0.0; 2]));
    assert!(open(&folder_of(&config(), &harmless)).is_ok());
}

#[test]
fn nan_and_infinity_are_found_when_a_tensor_is_read() {
    for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut all = tensors(&config());
        all[2].2[8 * 5 + 3] = bad;
        let checkpoint = open(&folder_of(&config(), &all)).unwrap();
        let view = checkpoint.tensor(&all[2].0).unwrap();
        assert_refused(view.to_f32(), "non-finite-weights", &[&all[2].0, "row 5"]);
        assert_refused(check_finite(&view), "non-finite-weights", &[&all[2].0, "row 5"]);
        assert!(check_finite(&checkpoint.tensor(&all[0].0).unwrap()).is_ok());
    }
    // A long tensor, spoiled at its very end: the scan looks at runs.
    let mut wide = config();
    wide["vocab_size"] = json!(1000);
    let mut all = tensors(&wide);
    *all[0].2.last_mut().unwrap() = f32::NAN;
    let checkpoint = open(&folder_of(&wide, &all)).unwrap();
    assert_refused(checkpoint.tensor(&all[0].0).unwrap().to_f32(), "non-finite-weights", &["row 999"]);
}

#[test]
fn a_view_whose_bytes_do_not_match_is_refused() {
    let mut view = open(&folder_of(&config(), &tensors(&config()))).unwrap().tensor("model.norm.weight").unwrap();
    view.shape = vec![9];
    assert_refused(view.to_f32(), "wrong-shape", &["model.norm.weight"]);
    view.shape = vec![usize::MAX, 2];
    assert_refused(view.to_f32(), "wrong-shape", &["model.norm.weight"]);
    view.shape = vec![8];
    view.dtype = Dtype::Q8_0;
    assert_refused(view.to_f32(), "wrong-shape", &["Q8_0"]);
}

#[test]
fn folders_without_a_model_say_what_was_expected() {
    let folder = Folder::new();
    let absent = folder.path().join("absent");
    assert_refused(Checkpoint::open(&absent), "file-not-found", &["absent"]);
    assert_refused(open(&folder), "not-a-checkpoint", &["config.json", "model.safetensors", ".gguf"]);
    folder.put("pytorch_model.bin", "x");
    assert_refused(open(&folder), "not-a-checkpoint", &["safetensors", "can run code"]);
    let weights = folder.put("w.safetensors", safetensors("{}", &[]));
    assert_refused(Checkpoint::open(&weights), "not-a-checkpoint", &["folder"]);
    let text = folder.put("readme.txt", "hello");
    assert_refused(Checkpoint::open(&text), "bad-header", &["readme.txt", "GGUF"]);

    let gguf = std::fs::read(fixture("gguf/qwen2.gguf")).unwrap();
    folder.put("a.gguf", &gguf);
    let checkpoint = open(&folder).unwrap();
    assert_eq!((checkpoint.path.as_path(), checkpoint.config.layers), (folder.path(), 1));
    folder.put("b.GGUF", &gguf);
    assert_refused(open(&folder), "not-a-checkpoint", &["2 .gguf files"]);

    let bare = Folder::new();
    write(&bare, "model.safetensors", &tensors(&config()));
    assert_refused(open(&bare), "file-not-found", &["config.json"]);
    bare.put("config.json", "{\"model_type\": \"llama\",");
    assert_refused(open(&bare), "bad-config", &["config.json", "JSON"]);
    bare.put("config.json", "[".repeat(500_000));
    assert_refused(open(&bare), "bad-config", &["config.json"]);
    bare.put("config.json", " ".repeat((1 << 20) + 1));
    assert_refused(open(&bare), "file-too-large", &["config.json"]);
    bare.put("config.json", config().to_string());
    assert!(open(&bare).is_ok());
    bare.put("generation_config.json", "nonsense");
    assert_refused(open(&bare), "bad-config", &["generation_config.json"]);
}

/// A GGUF model's synthesised `config.json` opens as a folder and means the same.
#[test]
fn a_gguf_model_saved_as_a_folder_is_the_same_model() {
    for name in ["llama", "llama-scaled", "qwen2", "qwen3", "gemma3"] {
        let gguf = Checkpoint::open(&fixture(&format!("gguf/{name}.gguf"))).unwrap();
        let all: Tensors = gguf
            .names()
            .into_iter()
            .map(|n| {
                let view = gguf.tensor(&n).unwrap();
                let values = view.to_f32().unwrap();
                (n, view.shape, values)
            })
            .collect();
        let saved = open(&folder_of(&gguf.config_json, &all)).unwrap();
        assert_eq!(saved.config, gguf.config, "{name}");
        assert_eq!(saved.names(), gguf.names());
    }
}
