//! Scoring and training on a packed batch: per-token log-probabilities out, their gradients back in.
//!
//! Logits are made in chunks of rows and, where they are small, kept for backward; the full matrix of a long batch never exists.

use super::block::{Attend, Saved};
use super::param::Pass;
use super::{MemoryPlan, Model, Values};
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

/// Aligned with the batch's tokens; NaN (0 in `correct`) where not asked or without context.
pub struct Scores {
    pub logprobs: Vec<f32>,
    pub entropy: Vec<f32>,
    /// 1 where no token was more likely.
    pub correct: Vec<u8>,
    pub values: Option<ValueScores>,
}

/// What the value head says.
pub struct ValueScores {
    /// Aligned with the batch's tokens as log-probs are: the value before each.
    pub tokens: Vec<f32>,
    /// The value after the last token of every segment.
    pub ends: Vec<f32>,
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
    values: Option<Values>,
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

    /// Log-probs and entropies of the batch's tokens, and values when asked for; with `grad`, keeps what `backward` needs
    /// (dropout is on then).
    ///
    /// # Errors
    /// `bad-batch`, `bad-token`, `too-long`, `bad-temperature`, `no-value-head`, `nothing-to-train`, `out-of-memory`.
    pub fn forward(&mut self, b: Batch, grad: bool, temperature: f32, values: Option<Values>) -> Result<Scores> {
        self.kept = None;
        self.check(&b)?;
        if !(temperature.is_finite() && temperature > 0.0) {
            bail!("bad-temperature", "temperature must be above 0 to score tokens, not {temperature}");
        }
        if values.is_some() && self.value_head.is_none() {
            bail!("no-value-head", "this model has no value head: attach one before asking for values");
        }
        if grad && values.is_none() && self.trainable_parameters() == 0 {
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
        let unknown = || vec![f32::NAN; b.ids.len()];
        let mut out = Scores { logprobs: unknown(), entropy: unknown(), correct: vec![0; b.ids.len()], values: None };
        let head = self.value_head.as_ref().filter(|_| values.is_some());
        if let Some(head) = head {
            let last: Vec<u32> = b.layout.segments.iter().map(|s| (s.start + s.len - 1) as u32).collect();
            let (normed, _) = self.final_norm(&self.select(&x, &last), last.len());
            out.values = Some(ValueScores { tokens: unknown(), ends: head.values(&dev, &normed, last.len()) });
        }
        let (mut lses, mut entropies) = (Vec::new(), Vec::new());
        let mut logits_kept = (grad && rows.len() * v <= KEEP).then(Vec::new);
        dev.pin(&self.head_param().data, true);
        for (r, t, ix) in chunks(&rows, &targets, &index, chunk_rows(v)) {
            let n = r.len();
            let (normed, _) = self.final_norm(&self.select(&x, r), n);
            let logits = self.logits_of(&normed, n, false);
            let [mut lp, mut en, mut hit, mut lse] = [dev.alloc(n), dev.alloc(n), dev.alloc(n), dev.alloc(n)];
            dev.logprob(&logits, n, v, t, temperature, &mut lp, &mut en, &mut hit, &mut lse);
            let mut host = vec![0.0; n];
            for (from, to) in [(&lp, &mut out.logprobs), (&en, &mut out.entropy)] {
                dev.download(from, &mut host);
                ix.iter().zip(&host).for_each(|(&i, &x)| to[i] = x);
            }
            dev.download(&hit, &mut host);
            ix.iter().zip(&host).for_each(|(&i, &x)| out.correct[i] = x as u8);
            if let (Some(head), Some(to)) = (head, &mut out.values) {
                ix.iter().zip(head.values(&dev, &normed, n)).for_each(|(&i, x)| to.tokens[i] = x);
            }
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
                values,
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

    /// Gradients of the loss with respect to the last kept `forward`'s log-probs, entropies and values, aligned with its
    /// tokens; entries at tokens that were not scored are ignored. Parameter gradients add up until the optimizer step.
    /// Without gradients of log-probs and entropies, detached values leave the model's layers alone: that costs next to nothing.
    ///
    /// # Errors
    /// `no-forward` when there is nothing to go back through; `no-values` when it was not asked for values; `bad-batch` for
    /// a wrong length, or gradients of entropies without those of log-probs.
    pub fn backward(&mut self, dlp: Option<&[f32]>, dentropy: Option<&[f32]>, dvalues: Option<&[f32]>) -> Result<()> {
        let Some(kept) = self.kept.take() else {
            bail!("no-forward", "backward needs a forward with grad before it, and each forward serves one backward");
        };
        let n = kept.ids.len();
        for (d, what) in [(dlp, "log-probs"), (dentropy, "entropies"), (dvalues, "values")] {
            if let Some(d) = d.filter(|d| d.len() != n) {
                bail!("bad-batch", "backward got {} gradients of {what} for a batch of {n} tokens", d.len());
            }
        }
        if dlp.is_none() && dentropy.is_some() {
            bail!("bad-batch", "gradients of entropies need gradients of log-probs beside them");
        }
        if dvalues.is_some() && kept.values.is_none() {
            bail!("no-values", "backward got gradients of values, but the forward before it was not asked for values");
        }
        let shared = dvalues.is_some() && kept.values == Some(Values::Shared);
        let deep = self.trainable_parameters() > 0 && (dlp.is_some() || shared);
        let dev = self.dev.clone();
        let (t, h, v) = (n, self.config.hidden_size, self.config.vocab_size);
        let mut dx = dev.zeros(t * h);
        let mut kept_logits = kept.logits.map(Vec::into_iter);
        dev.pin(&self.head_param().data, true);
        for (ci, (r, tg, ix)) in chunks(&kept.rows, &kept.targets, &kept.index, chunk_rows(v)).enumerate() {
            let m = r.len();
            let sel = self.select(&kept.last, r);
            let (normed, rstd) = self.final_norm(&sel, m);
            let at = |d: &[f32]| -> Vec<f32> { ix.iter().map(|&i| d[i]).collect() };
            let mut dn = dev.zeros(if deep { m * h } else { 0 });
            if let (Some(d), true) = (dlp, deep) {
                let mut logits =
                    kept_logits.as_mut().and_then(Iterator::next).unwrap_or_else(|| self.logits_of(&normed, m, false));
                dev.logprob_backward(
                    &mut logits,
                    m,
                    v,
                    tg,
                    kept.temperature,
                    &kept.lse[ci],
                    &kept.entropy[ci],
                    &at(d),
                    dentropy.map(at).as_deref(),
                );
                dev.linear_dx(&logits, m, &self.head_param().data, &mut dn, false);
                let head = self.head.as_mut().unwrap_or(&mut self.embed);
                if let Some(g) = head.grad() {
                    dev.linear_dw(&logits, &normed, m, v, h, g);
                }
            }
            if let (Some(d), Some(head)) = (dvalues, &mut self.value_head) {
                head.backward(&dev, &at(d), &normed, Some(&mut dn).filter(|_| deep && shared));
            }
            if !deep {
                continue;
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
        if !deep {
            return Ok(());
        }
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
