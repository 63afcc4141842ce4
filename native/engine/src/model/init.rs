//! A new model with random weights, as a Hugging Face folder.

use super::load::Rng;
use crate::config_read::config_from_json;
use crate::error::{EngineError, Result};
use crate::formats::{expected_tensors, write_safetensors, Dtype, TensorOut};
use std::path::Path;

/// Writes `config.json` and `model.safetensors`: matrices normal with the configuration's `initializer_range` (0.02),
/// norms neutral, biases 0. The same seed gives the same bytes.
///
/// # Errors
/// `bad-config`, `write-failed`, `disk-full`, and those of reading the configuration.
pub fn create_model(folder: &Path, config_json: &str, seed: u64) -> Result<()> {
    let json: serde_json::Value = serde_json::from_str(config_json)
        .map_err(|e| EngineError::new("bad-config", format!("the model configuration is not valid JSON: {e}")))?;
    let failed =
        |e: std::io::Error| EngineError::new("write-failed", format!("cannot write {}: {e}", folder.display()));
    let config = config_from_json(&json, None, &folder.display().to_string())?;
    let std = json["initializer_range"].as_f64().unwrap_or(0.02) as f32;
    let tensors = expected_tensors(&config);
    let data: Vec<Vec<f32>> = tensors
        .iter()
        .enumerate()
        .map(|(i, (name, shape))| {
            let n = shape.iter().product();
            if name.ends_with("bias") {
                vec![0.0; n]
            } else if shape.len() == 1 {
                vec![if config.norm_plus_one { 0.0 } else { 1.0 }; n]
            } else {
                let mut rng = Rng::new(seed, i as u64);
                (0..n).map(|_| rng.normal() * std).collect()
            }
        })
        .collect();
    let out: Vec<TensorOut> = tensors
        .iter()
        .zip(&data)
        .map(|((name, shape), data)| TensorOut { name, shape, data, dtype: Dtype::F32 })
        .collect();
    std::fs::create_dir_all(folder).map_err(failed)?;
    write_safetensors(&folder.join("model.safetensors"), &out, &[])?;
    std::fs::write(folder.join("config.json"), format!("{json:#}\n")).map_err(failed)
}
