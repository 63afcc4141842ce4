//! Hone's engine: opens a language model, samples from it, trains it. Token ids in, numbers out; it never sees text.

pub mod config;
pub mod config_read;
pub mod cpu;
pub mod device;
mod draw;
pub mod error;
pub mod formats;
pub mod gemm;
pub mod layout;
pub mod model;
pub mod pool;
pub mod reference;
pub mod request;
pub mod sampler;
pub mod session;
pub mod simd;

// Integration tests see the crate by this name; the unit tests share a module with them.
#[cfg(test)]
extern crate self as hone_engine;
#[cfg(test)]
#[path = "../tests/levels/mod.rs"]
mod levels;
