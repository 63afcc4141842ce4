//! Scoring and training on a packed batch: per-token log-probabilities out, their gradients back in.
//!
//! Logits are made in chunks of rows and, where they are small, kept for backward; the full matrix of a long batch never exists.

use super::block::{Attend, Saved};
use super::param::Pass;
use super::{MemoryPlan, Model};
use crate::bail;
use crate::device::Device;
use crate::error::Result;
use crate::layout::Layout;

pub struct Batch {
    pub ids: Vec<i32>,
    pub layout: Layout,
    /// 1 where the token's log-prob is wanted; empty: everywhere it has context.
    pub mask: Vec<u8>,
}

/// Aligned with the batch's tokens; NaN where not asked or without context.
pub struct Scores {
    pub logprobs: Vec<f32>,
    pub entropy: Vec<f32>,
}

/// What `backward` needs of the last `forward`.
pub(super) struct Kept<D: Device> {
    ids: Vec<i32>,
    layout: Layout,
    blocks: Vec<Layer<D>>,
    last: D::Buf,
    /// Row that predicts each target, the target, and its index in the batch.
    rows: Vec<u32>,
    targets: Vec<i32>,
    index: Vec<usize>,
    temperature: f32,
    lse: Vec<D::Buf>,
    entropy: Vec<D::Buf>,
    /// Logits of every chunk, where small enough to keep.
    logits: Option<Vec<D::Buf>>,
    pass: Pass,
}

enum Layer<D: Device> {
    Full(Box<Saved<D>>),
    /// The block's input alone: it is run again in backward.
    Input(D::Buf),
}

/// Floats of logits made at a time, and kept for backward at most.
pub(super) const CHUNK: usize = 16 << 20;
pub(super) const KEEP: usize = 64 << 20;

pub(super) fn chunk_rows(vocab: usize) -> usize {
    (CHUNK / vocab).max(16)
}

impl<D: Device> Model<D> {
    fn check(&self, b: &Batch) -> Result<()> {
        if b.layout.rows() != b.ids.len() {
            bail!("bad-batch", "the batch has {} tokens but its segments cover {}", b.ids.len(), b.layout.rows());
        }
        if !b.mask.is_empty() && b.mask.len() != b.ids.len() {
            bail!("bad-batch", "the batch has {} tokens but its mask has {} entries", b.ids.len(), b.mask.len());
        }
        self.check_ids(&b.ids)?;
        if b.layout.longest() > self.config.context_length {
            bail!(
                "too-long",
                "a sequence of {} tokens is longer than the model's context of {}: shorten it",
                b.layout.longest(),
                self.config.context_length
            );
        }
        Ok(())
    }

    pub fn check_ids(&self, ids: &[i32]) -> Result<()> {
        let v = self.config.vocab_size;
        if let Some((i, id)) = ids.iter().enumerate().find(|(_, &id)| id < 0 || id as usize >= v) {
            bail!("bad-token", "token {i} is {id}, but this model's ids are 0 to {}", v - 1);
        }
        Ok(())
    }

    /// Log-probs and entropies of the batch's tokens; with `grad`, keeps what `backward` needs (dropout is on then).
    ///
    /// # Errors
    /// `bad-batch`, `bad-token`, `too-long`, `bad-temperature`.
    pub fn forward(&mut self, b: Batch, grad: bool, temperature: f32) -> Result<Scores> {
        self.kept = None;
        self.check(&b)?;
        if !(temperature.is_finite() && temperature > 0.0) {
            bail!("bad-temperature", "temperature must be above 0 to score tokens, not {temperature}");
        }
        if grad && self.trainable_parameters() == 0 {
            bail!(
                "nothing-to-train",
                "no weight of this model is trainable: open it for full training or attach an adapter first"
            );
        }
        self.reach(b.layout.longest());
        let (mut rows, mut targets, mut index) = (Vec::new(), Vec::new(), Vec::new());
        for (si, s) in b.layout.segments.iter().enumerate() {
            for o in 0..s.len {
                let i = s.start + o;
                if b.mask.is_empty() || b.mask[i] != 0 {
                    if let Some(row) = b.layout.predictor(si, o) {
                        rows.push(row as u32);
                        targets.push(b.ids[i]);
                        index.push(i);
                    }
                }
            }
        }
        let plan = MemoryPlan { tokens: b.ids.len(), targets: rows.len(), ..MemoryPlan::default() };
        let recompute = grad && self.plan_recompute(plan)?;
        let dropout_seed = (grad && self.adapter.as_ref().is_some_and(|a| a.dropout > 0.0)).then(|| {
            self.passes += 1;
            self.adapter.as_ref().map_or(0, |a| a.seed).wrapping_mul(0x9E37_79B9).wrapping_add(self.passes << 20)
        });
        let pass = self.pass(false, dropout_seed);
        let (dev, c) = (self.dev.clone(), &self.config);
        let mut x = self.embed_tokens(&b.ids);
        let mut blocks = Vec::new();
        for (i, block) in self.blocks.iter().enumerate() {
            let input = recompute.then(|| {
                let mut keep = dev.alloc(b.ids.len() * c.hidden_size);
                dev.copy(&x, &mut keep, b.ids.len() * c.hidden_size);
                keep
            });
            let save = grad && !recompute;
            let (out, saved) = block.forward(
                &dev,
                c,
                x,
                &b.layout.positions,
                &self.ropes,
                &mut Attend::Packed(&b.layout),
                i,
                pass,
                save,
            );
            x = out;
            blocks.extend(saved.map(|s| Layer::Full(Box::new(s))).or(input.map(Layer::Input)));
        }

        let v = c.vocab_size;
        let mut out = Scores { logprobs: vec![f32::NAN; b.ids.len()], entropy: vec![f32::NAN; b.ids.len()] };
        let (mut lses, mut entropies) = (Vec::new(), Vec::new());
        let mut logits_kept = (grad && rows.len() * v <= KEEP).then(Vec::new);
        dev.pin(&self.head_param().data, true);
        for (r, t, ix) in chunks(&rows, &targets, &index, chunk_rows(v)) {
            let sel = self.select(&x, r);
            let logits = self.logits_of(&sel, r.len(), false);
            let (mut lp, mut en, mut lse) = (dev.alloc(r.len()), dev.alloc(r.len()), dev.alloc(r.len()));
            dev.logprob(&logits, r.len(), v, t, temperature, &mut lp, &mut en, &mut lse);
            let mut host = vec![0.0; r.len()];
            dev.download(&lp, &mut host);
            ix.iter().zip(&host).for_each(|(&i, &x)| out.logprobs[i] = x);
            dev.download(&en, &mut host);
            ix.iter().zip(&host).for_each(|(&i, &x)| out.entropy[i] = x);
            if grad {
                lses.push(lse);
                entropies.push(en);
                if let Some(k) = &mut logits_kept {
                    k.push(logits);
                }
            }
        }
        dev.pin(&self.head_param().data, false);
        if grad {
            self.kept = Some(Kept {
                ids: b.ids,
                layout: b.layout,
                blocks,
                last: x,
                rows,
                targets,
                index,
                temperature,
                lse: lses,
                entropy: entropies,
                logits: logits_kept,
                pass,
            });
        }
        Ok(out)
    }

    fn select(&self, x: &D::Buf, rows: &[u32]) -> D::Buf {
        let mut sel = self.dev.alloc(rows.len() * self.config.hidden_size);
        self.dev.gather(x, rows, self.config.hidden_size, &mut sel);
        sel
    }

    /// Gradients of the loss with respect to the last kept `forward`'s log-probs (and entropies), aligned with its tokens;
    /// entries at tokens that were not scored are ignored. Parameter gradients add up until the optimizer step.
    ///
    /// # Errors
    /// `no-forward` when there is nothing to go back through; `bad-batch` for a wrong length.
    pub fn backward(&mut self, dlp: &[f32], dentropy: Option<&[f32]>) -> Result<()> {
        let Some(kept) = self.kept.take() else {
            bail!("no-forward", "backward needs a forward with grad before it, and each forward serves one backward");
        };
        let n = kept.ids.len();
        if dlp.len() != n || dentropy.is_some_and(|d| d.len() != n) {
            bail!("bad-batch", "backward got {} gradients for a batch of {n} tokens", dlp.len());
        }
        let dev = self.dev.clone();
        let (t, h, v) = (n, self.config.hidden_size, self.config.vocab_size);
        let mut dx = dev.zeros(t * h);
        let mut kept_logits = kept.logits.map(Vec::into_iter);
        dev.pin(&self.head_param().data, true);
        for (ci, (r, tg, ix)) in chunks(&kept.rows, &kept.targets, &kept.index, chunk_rows(v)).enumerate() {
            let m = r.len();
            let sel = self.select(&kept.last, r);
            let (mut normed, mut rstd) = (dev.alloc(m * h), dev.alloc(m));
            dev.rms_norm(
                &sel,
                m,
                h,
                self.norm.vector(&dev),
                self.config.rms_norm_eps,
                self.config.norm_plus_one,
                &mut normed,
                &mut rstd,
            );
            let mut logits = kept_logits.as_mut().and_then(Iterator::next).unwrap_or_else(|| {
                let mut l = dev.alloc(m * v);
                dev.linear(&normed, m, &self.head_param().data, &mut l, false);
                l
            });
            let d: Vec<f32> = ix.iter().map(|&i| dlp[i]).collect();
            let de: Option<Vec<f32>> = dentropy.map(|e| ix.iter().map(|&i| e[i]).collect());
            dev.logprob_backward(
                &mut logits,
                m,
                v,
                tg,
                kept.temperature,
                &kept.lse[ci],
                &kept.entropy[ci],
                &d,
                de.as_deref(),
            );
            let mut dn = dev.alloc(m * h);
            dev.linear_dx(&logits, m, &self.head_param().data, &mut dn, false);
            let head = self.head.as_mut().unwrap_or(&mut self.embed);
            if let Some(g) = head.grad() {
                dev.linear_dw(&logits, &normed, m, v, h, g);
            }
            let mut dsel = dev.zeros(m * h);
            super::block::add_norm_backward(
                &*dev,
                &dn,
                &sel,
                &rstd,
                m,
                h,
                &mut self.norm,
                self.config.norm_plus_one,
                &mut dsel,
            );
            dev.scatter_add(&dsel, r, h, &mut dx);
        }
        dev.pin(&self.head_param().data, false);
        for (i, layer) in kept.blocks.into_iter().enumerate().rev() {
            let saved = match layer {
                Layer::Full(s) => *s,
                Layer::Input(x) => {
                    let again = self.blocks[i].forward(
                        &dev,
                        &self.config,
                        x,
                        &kept.layout.positions,
                        &self.ropes,
                        &mut Attend::Packed(&kept.layout),
                        i,
                        kept.pass,
                        true,
                    );
                    match again.1 {
                        Some(s) => s,
                        None => bail!("internal", "block {i} kept nothing when it was run again"),
                    }
                }
            };
            self.blocks[i].backward(
                &dev,
                &self.config,
                saved,
                &mut dx,
                &kept.layout.positions,
                &self.ropes,
                &kept.layout,
                kept.pass,
            );
        }
        let scale = self.config.embedding_scale;
        if let Some(g) = self.embed.grad() {
            dev.embed_backward(&dx, &kept.ids, h, scale, g);
        }
        Ok(())
    }
}

fn chunks<'a>(
    rows: &'a [u32],
    targets: &'a [i32],
    index: &'a [usize],
    n: usize,
) -> impl Iterator<Item = (&'a [u32], &'a [i32], &'a [usize])> {
    rows.chunks(n).zip(targets.chunks(n)).zip(index.chunks(n)).map(|((r, t), i)| (r, t, i))
}
