//! Converts between JavaScript and the engine, nothing else. `index.d.ts` is generated from these items.

mod convert;
mod model;

use convert::{kv_bytes_per_token, model_type, NativeMemory, NativePlan, NativePlanOptions};
use hone_engine::config_read::config_from_text;
use hone_engine::formats::expected_tensors;
use hone_engine::model::{estimate_config, Trainable};
use hone_engine::simd;
use napi_derive::napi;

/// A training step asks for large arrays again and again; mimalloc keeps their pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[napi(object)]
pub struct EngineInfo {
    pub version: String,
    /// Instruction set in use: `avx512`, `avx2`, `neon` or `scalar`.
    pub simd: String,
}

#[napi]
pub fn engine_info() -> EngineInfo {
    EngineInfo { version: env!("CARGO_PKG_VERSION").to_string(), simd: simd::level().name().to_string() }
}

/// Metadata of a GGUF file as a JSON text: keys as in the file, arrays included.
#[napi]
pub fn gguf_metadata(path: String) -> napi::Result<String> {
    let json = hone_engine::formats::gguf_metadata_json(std::path::Path::new(&path)).map_err(convert::error)?;
    Ok(json.to_string())
}

/// A new model with random weights: writes `config.json` and `model.safetensors` into `folder`. Blocks while it writes.
#[napi]
pub fn create_model(folder: String, config_json: String, seed: u32) -> napi::Result<()> {
    hone_engine::model::create_model(std::path::Path::new(&folder), &config_json, u64::from(seed))
        .map_err(convert::error)
}

/// What a model of this `config.json` would need, without its weights. `origin` names it in messages. Refuses what the
/// engine would not open.
#[napi]
pub fn plan_memory(config_json: String, origin: String, options: NativePlanOptions) -> napi::Result<NativePlan> {
    let c = config_from_text(&config_json, &origin).map_err(convert::error)?;
    let trainable = match options.trainable.as_str() {
        "full" => Trainable::Full,
        "lora" => Trainable::Lora,
        _ => Trainable::None,
    };
    let (bytes, lora_r) = (options.weight_bytes as u64, options.lora_r as usize);
    let memory = estimate_config(&c, bytes, trainable, lora_r, options.plan.into(), options.recompute);
    Ok(NativePlan {
        architecture: model_type(c.architecture),
        parameters: expected_tensors(&c).iter().map(|(_, shape)| shape.iter().product::<usize>() as f64).sum(),
        layers: c.layers as u32,
        context_length: c.context_length as u32,
        kv_bytes_per_token: kv_bytes_per_token(&c),
        memory: NativeMemory::from(memory),
    })
}

/// GFLOP/s of an m × n × k product in fp32 on `threads` threads: the best of `runs`.
#[napi]
pub fn gemm_gflops(m: u32, n: u32, k: u32, threads: u32, runs: u32) -> f64 {
    hone_engine::gemm::measure(m as usize, n as usize, k as usize, threads as usize, runs as usize)
}
