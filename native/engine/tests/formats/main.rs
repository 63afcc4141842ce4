//! Model files: reading, writing, and refusing what is damaged or hostile.

mod checkpoint;
mod config;
mod gguf;
mod goldens;
mod quant;
mod safetensors;
mod support;
