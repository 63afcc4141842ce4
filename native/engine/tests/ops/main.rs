//! Every op of the CPU device against the reference device, gradients against finite differences, and whole models on both.

mod attention;
mod gradients;
mod linear;
mod model;
mod rows;
mod support;
mod vectors;

#[path = "../levels/mod.rs"]
mod levels;
