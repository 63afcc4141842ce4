//! A language model: weights loaded from a checkpoint, forward and backward over a packed batch, adapters.

mod batch;
mod block;
mod init;
mod load;
mod memory;
mod optimizer;
mod param;
mod rope_table;
mod save;
mod state;
mod value_head;

pub use batch::{Batch, Scores, ValueScores};
pub use block::{Attend, Block, Ropes};
pub use init::create_model;
pub use load::{LoraConfig, Trainable};
pub use memory::{estimate_config, MemoryEstimate, MemoryPlan};
pub use optimizer::{OptimOptions, OptimResult};
pub use param::{Linear, Lora, Param, Pass};
pub use value_head::{ValueHead, Values};

use crate::config::ModelConfig;
use crate::device::Device;
use batch::Kept;
use std::path::PathBuf;
use std::sync::Arc;

pub struct Model<D: Device> {
    pub dev: Arc<D>,
    pub config: ModelConfig,
    pub config_json: serde_json::Value,
    pub path: PathBuf,
    pub weight_bytes: u64,
    pub dtype: &'static str,
    pub embed: Param<D>,
    pub blocks: Vec<Block<D>>,
    pub norm: Param<D>,
    /// None when the embedding is also the head (tied).
    pub head: Option<Param<D>>,
    ropes: Ropes<D>,
    rope_positions: usize,
    pub trainable: Trainable,
    pub adapter: Option<LoraConfig>,
    /// False while the base is used as the reference model.
    pub lora_on: bool,
    /// Not one of `params`: no weight file holds it.
    pub value_head: Option<ValueHead<D>>,
    kept: Option<Kept<D>>,
    /// Optimizer steps taken.
    pub steps: u64,
    /// Counts training passes, so that every one has its own dropout mask.
    passes: u64,
    /// Make layers again in backward instead of keeping what they computed, even where memory does not ask for it.
    pub recompute: bool,
    /// Bytes that training may take in all; a pass that would need more recomputes its layers, or is refused.
    pub memory_limit: u64,
}

impl<D: Device> Model<D> {
    pub fn params(&self) -> impl Iterator<Item = &Param<D>> {
        let blocks =
            self.blocks.iter().flat_map(|b| b.norms().chain(b.linears().into_iter().flat_map(|(_, l)| l.params())));
        [&self.embed, &self.norm].into_iter().chain(self.head.as_ref()).chain(blocks)
    }

    /// Every parameter in a fixed order.
    pub fn for_each_param(&mut self, mut f: impl FnMut(&D, &mut Param<D>)) {
        let dev = self.dev.clone();
        f(&dev, &mut self.embed);
        f(&dev, &mut self.norm);
        if let Some(h) = &mut self.head {
            f(&dev, h);
        }
        for b in &mut self.blocks {
            for p in b.norms_mut() {
                f(&dev, p);
            }
            for (_, l) in b.linears_mut() {
                for p in l.params_mut() {
                    f(&dev, p);
                }
            }
        }
    }

    pub fn parameters(&self) -> usize {
        self.params().filter(|p| !p.name.contains("lora_")).map(Param::len).sum()
    }
    pub fn trainable_parameters(&self) -> usize {
        self.params().filter(|p| p.trained()).map(Param::len).sum()
    }

    /// The matrix that turns hidden states into logits.
    fn head_param(&self) -> &Param<D> {
        self.head.as_ref().unwrap_or(&self.embed)
    }

    fn pass(&self, decode: bool, dropout_seed: Option<u64>) -> Pass {
        Pass { lora: self.lora_on && self.adapter.is_some(), dropout_seed, decode }
    }

    /// RoPE tables for at least `positions` positions.
    fn reach(&mut self, positions: usize) {
        if positions <= self.rope_positions {
            return;
        }
        let n = positions.next_power_of_two().max(512);
        let hd = self.config.head_dim;
        self.ropes = Ropes {
            global: self.dev.upload(&rope_table::rope_table(&self.config.rope, hd, n)),
            local: self.config.rope_local.map(|r| self.dev.upload(&rope_table::rope_table(&r, hd, n))),
        };
        self.rope_positions = n;
    }

    /// Residual stream through all blocks, no gradients kept: x `[T, H]` in, `[T, H]` out (before the final norm).
    fn run(&self, mut x: D::Buf, positions: &[u32], attend: &mut Attend<D>, pass: Pass) -> D::Buf {
        for (i, b) in self.blocks.iter().enumerate() {
            x = b.forward(&self.dev, &self.config, x, positions, &self.ropes, attend, i, pass, false).0;
        }
        x
    }

    /// Final norm of `rows` rows of the residual stream: `[rows, H]`, and its statistics.
    fn final_norm(&self, x: &D::Buf, rows: usize) -> (D::Buf, D::Buf) {
        let h = self.config.hidden_size;
        let (mut n, mut rstd) = (self.dev.alloc(rows * h), self.dev.alloc(rows));
        self.dev.rms_norm(
            x,
            rows,
            h,
            self.norm.vector(&self.dev),
            self.config.rms_norm_eps,
            self.config.norm_plus_one,
            &mut n,
            &mut rstd,
        );
        (n, rstd)
    }

    /// Head on normed rows: `[rows, V]`.
    fn logits_of(&self, normed: &D::Buf, rows: usize, decode: bool) -> D::Buf {
        let mut logits = self.dev.alloc(rows * self.config.vocab_size);
        let head = &self.head_param().data;
        if decode {
            self.dev.linear_decode(normed, rows, head, &mut logits, false);
        } else {
            self.dev.linear(normed, rows, head, &mut logits, false);
        }
        logits
    }

    fn embed_tokens(&self, ids: &[i32]) -> D::Buf {
        let mut x = self.dev.alloc(ids.len() * self.config.hidden_size);
        self.dev.embed(&self.embed.data, ids, self.config.embedding_scale, &mut x);
        x
    }

    /// Prompts into KV pages; returns logits `[prompts, V]` of each prompt's last token.
    pub fn prefill(
        &mut self,
        ids: &[i32],
        layout: &crate::layout::Layout,
        kv: &mut D::Kv,
        at: &[(u32, u32)],
    ) -> D::Buf {
        self.reach(layout.longest());
        let x = self.embed_tokens(ids);
        let x = self.run(x, &layout.positions, &mut Attend::Prefill(layout, kv, at), self.pass(false, None));
        let last: Vec<u32> = layout.segments.iter().map(|s| (s.start + s.len - 1) as u32).collect();
        let mut rows = self.dev.alloc(last.len() * self.config.hidden_size);
        self.dev.gather(&x, &last, self.config.hidden_size, &mut rows);
        self.logits_of(&self.final_norm(&rows, last.len()).0, last.len(), true)
    }

    /// One token of every sequence; `at` is where its key and value go, `tables` include it. Returns logits `[n, V]`.
    pub fn decode(
        &mut self,
        ids: &[i32],
        positions: &[u32],
        kv: &mut D::Kv,
        tables: &[&crate::device::PageTable],
        at: &[(u32, u32)],
    ) -> D::Buf {
        self.reach(positions.iter().max().map_or(1, |&p| p as usize + 1));
        let x = self.embed_tokens(ids);
        let x = self.run(x, positions, &mut Attend::Decode(kv, tables, at), self.pass(true, None));
        self.logits_of(&self.final_norm(&x, ids.len()).0, ids.len(), true)
    }

    /// Residual stream entering each block and leaving the last (for checks): `layers + 1` buffers of `[T, H]`.
    pub fn hidden_states(&mut self, ids: &[i32], layout: &crate::layout::Layout) -> Vec<D::Buf> {
        self.reach(layout.longest());
        let mut x = self.embed_tokens(ids);
        let mut all = Vec::new();
        for (i, b) in self.blocks.iter().enumerate() {
            let mut keep = self.dev.alloc(ids.len() * self.config.hidden_size);
            self.dev.copy(&x, &mut keep, ids.len() * self.config.hidden_size);
            all.push(keep);
            x = b
                .forward(
                    &self.dev,
                    &self.config,
                    x,
                    &layout.positions,
                    &self.ropes,
                    &mut Attend::Packed(layout),
                    i,
                    self.pass(false, None),
                    false,
                )
                .0;
        }
        all.push(x);
        all
    }

    /// Logits `[T, V]` of every row (for checks and small inputs).
    pub fn logits(&mut self, ids: &[i32], layout: &crate::layout::Layout) -> D::Buf {
        self.reach(layout.longest());
        let x = self.embed_tokens(ids);
        let x = self.run(x, &layout.positions, &mut Attend::Packed(layout), self.pass(false, None));
        self.logits_of(&self.final_norm(&x, ids.len()).0, ids.len(), false)
    }
}
