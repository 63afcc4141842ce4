//! To disk and back: Hugging Face weights and PEFT adapters.

use super::load::{LoraConfig, ALL_LINEAR};
use super::{Model, Param};
use crate::bail;
use crate::device::Device;
use crate::error::{EngineError, Result};
use crate::formats::{write_safetensors, Dtype, SafetensorsFile, TensorOut};
use serde_json::{json, Value};
use std::path::Path;

fn write_json(path: &Path, value: &Value) -> Result<()> {
    let text = format!("{value:#}\n");
    std::fs::write(path, text)
        .map_err(|e| EngineError::new("write-failed", format!("cannot write {}: {e}", path.display())))
}

fn read_json(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| EngineError::new("read-failed", format!("cannot read {}: {e}", path.display())))?;
    serde_json::from_str(&text)
        .map_err(|e| EngineError::new("bad-json", format!("{} is not valid JSON: {e}", path.display())))
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|e| EngineError::new("write-failed", format!("cannot create {}: {e}", folder.display())))
}

impl<D: Device> Model<D> {
    fn write(&self, path: &Path, params: &[&Param<D>], rename: impl Fn(&str) -> String, dtype: Dtype) -> Result<()> {
        let data = params.iter().map(|p| self.dev.matrix_download(&p.data)).collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = params.iter().map(|p| rename(&p.name)).collect();
        let out: Vec<TensorOut> = params
            .iter()
            .zip(&data)
            .zip(&names)
            .map(|((p, d), name)| TensorOut { name, shape: &p.shape, data: d, dtype })
            .collect();
        write_safetensors(path, &out, &[])
    }

    /// `model.safetensors` and `config.json`. A tied head stays tied: it is not written a second time.
    ///
    /// # Errors
    /// `adapter-not-merged`, `write-failed`, `disk-full`.
    pub fn save_weights(&self, folder: &Path, dtype: Dtype) -> Result<()> {
        if self.adapter.is_some() {
            bail!("adapter-not-merged", "this model carries an adapter: save the adapter, or merge it first");
        }
        make_folder(folder)?;
        let params: Vec<_> = self.params().collect();
        self.write(&folder.join("model.safetensors"), &params, str::to_string, dtype)?;
        let mut config = self.config_json.clone();
        if let Some(c) = config.as_object_mut() {
            let name = match dtype {
                Dtype::BF16 => "bfloat16",
                Dtype::F16 => "float16",
                _ => "float32",
            };
            for key in ["torch_dtype", "dtype"] {
                if c.contains_key(key) {
                    c.insert(key.into(), json!(name));
                }
            }
            c.remove("quantization_config");
        }
        write_json(&folder.join("config.json"), &config)
    }

    /// `adapter_model.safetensors` and `adapter_config.json`, as PEFT writes them.
    ///
    /// # Errors
    /// `no-adapter`, `write-failed`, `disk-full`.
    pub fn save_adapter(&self, folder: &Path) -> Result<()> {
        let Some(a) = &self.adapter else { bail!("no-adapter", "this model has no adapter to save") };
        make_folder(folder)?;
        let params: Vec<_> = self.params().filter(|p| p.name.contains("lora_")).collect();
        self.write(&folder.join("adapter_model.safetensors"), &params, str::to_string, Dtype::F32)?;
        let config = json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": self.path.to_string_lossy(),
            "r": a.r,
            "lora_alpha": a.alpha,
            "lora_dropout": a.dropout,
            "target_modules": a.target_modules,
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
            "init_lora_weights": true,
            "modules_to_save": null,
            "use_rslora": false,
            "use_dora": false,
            "hone_seed": a.seed,
        });
        write_json(&folder.join("adapter_config.json"), &config)
    }

    /// Attach the PEFT adapter in `folder`, ready to train on or to sample with.
    ///
    /// # Errors
    /// `adapter-exists`, `bad-adapter` naming what does not fit, `read-failed`.
    pub fn load_adapter(&mut self, folder: &Path) -> Result<()> {
        let config = read_json(&folder.join("adapter_config.json"))?;
        let place = folder.display();
        for (key, want) in [("use_dora", false), ("use_rslora", false), ("fan_in_fan_out", false)] {
            if config[key].as_bool().unwrap_or(want) != want {
                bail!("bad-adapter", "{place}: adapters with {key} are not supported");
            }
        }
        let (Some(r), Some(alpha)) = (config["r"].as_u64(), config["lora_alpha"].as_f64()) else {
            bail!("bad-adapter", "{place}/adapter_config.json lacks r or lora_alpha");
        };
        let modules: Vec<String> = match &config["target_modules"] {
            Value::Array(a) => {
                a.iter().filter_map(|m| m.as_str()).map(|m| m.rsplit('.').next().unwrap_or(m).to_string()).collect()
            }
            Value::String(s) if s == "all-linear" => ALL_LINEAR.map(String::from).to_vec(),
            other => bail!(
                "bad-adapter",
                "{place}/adapter_config.json: target_modules {other} is not a list of module names"
            ),
        };
        let file = SafetensorsFile::open(&folder.join("adapter_model.safetensors"))?;
        let dropout = config["lora_dropout"].as_f64().unwrap_or(0.0) as f32;
        let seed = config["hone_seed"].as_u64().unwrap_or(0);
        self.attach_lora(LoraConfig { r: r as usize, alpha: alpha as f32, dropout, target_modules: modules, seed })?;
        let mut found = 0;
        let mut failure = None;
        self.for_each_param(|dev, p| {
            if failure.is_some() || !p.name.contains("lora_") {
                return;
            }
            failure = (|| {
                let view = file.tensor(&p.name)?;
                if view.shape != p.shape {
                    bail!(
                        "bad-adapter",
                        "{place}: {} has shape {:?}, this model needs {:?}",
                        p.name,
                        view.shape,
                        p.shape
                    );
                }
                crate::formats::check_finite(&view)?;
                let data = view.to_f32()?;
                if let Some(buf) = dev.matrix_buf_mut(&mut p.data) {
                    *buf = dev.upload(&data);
                }
                found += 1;
                Ok(())
            })()
            .err();
        });
        let stray = file.names().count() - found.min(file.names().count());
        let failure = failure.or_else(|| {
            (stray > 0).then(|| {
                EngineError::new(
                    "bad-adapter",
                    format!("{place}: {stray} tensors of the adapter belong to no module of this model"),
                )
            })
        });
        if let Some(e) = failure {
            self.drop_adapter();
            return Err(e);
        }
        Ok(())
    }

    /// Take the adapter off without merging it.
    pub fn drop_adapter(&mut self) {
        for b in &mut self.blocks {
            for (_, l) in b.linears_mut() {
                l.lora = None;
            }
        }
        self.adapter = None;
        self.trainable = super::Trainable::None;
    }
}
