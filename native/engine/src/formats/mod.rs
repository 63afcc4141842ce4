//! Model files: reading safetensors folders and GGUF files as one kind of checkpoint, writing safetensors.
//!
//! Everything here treats a file as hostile: sizes are checked before they are used, memory taken is a small multiple of
//! the bytes actually present, and whatever is wrong becomes an [`EngineError`](crate::error::EngineError) that names file, tensor and way out.
//! Weights are memory-mapped and handed out tensor by tensor, so opening a model reads only its header.

mod bytes;
mod checkpoint;
mod ggml_types;
mod gguf;
mod gguf_config;
mod gguf_cursor;
mod quant;
mod safetensors;
mod safetensors_write;
mod tensor;

pub use bytes::Bytes;
pub use checkpoint::{expected_tensors, Checkpoint};
pub use gguf::{gguf_metadata_json, GgufFile};
pub use quant::{bf16_to_f32, dequantize_into, f16_to_f32, f32_to_bf16, f32_to_f16};
pub use safetensors::{read_safetensors, SafetensorsFile};
pub use safetensors_write::{write_safetensors, TensorOut};
pub use tensor::{check_finite, Dtype, TensorView};

/// Text from a file, cut to a length that fits an error message, control characters made visible.
pub(crate) fn shorten(text: &str) -> String {
    const LIMIT: usize = 200;
    let mut short: String = text.chars().take(LIMIT).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(LIMIT).is_some() {
        short.push('…');
    }
    short
}
