//! Continuous batching: requests join and leave a running batch; the samples of one prompt share its prefill.
//!
//! A sample's tokens depend on its prompt, settings, seed and index only, never on what else is in the batch: every kernel
//! treats rows independently, and the random number of a position is a hash of (seed, index, position).

use crate::bail;
use crate::device::{Device, PageTable, PAGE};
use crate::draw::{draw, Drawn};
use crate::error::{EngineError, Result};
use crate::layout::Layout;
use crate::model::{Model, Trainable};
use crate::request::{Sample, SampleEvent, SampleJob, SampleRequest, StopReason, Stream};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

struct Call {
    requests: Vec<SampleRequest>,
    stream: Stream,
    cancel: Arc<AtomicBool>,
    sink: Box<dyn FnMut(SampleEvent) + Send>,
    done: Vec<Sample>,
    left: usize,
}

/// Samples of one prompt that have not been started yet.
struct Waiting {
    call: u64,
    request: usize,
    next: usize,
    prefix: Option<Arc<Prefix>>,
}

/// Pages of a prompt, given back when the last sample that reads them is done.
struct Prefix {
    pages: Vec<u32>,
    len: usize,
    logits: Vec<f32>,
}

struct Active {
    call: u64,
    request: usize,
    prefix: Arc<Prefix>,
    table: PageTable,
    reserved: usize,
    limit: usize,
    limit_reason: StopReason,
    sample: Sample,
}

/// The running batch of one model.
pub struct Sampler<D: Device> {
    kv: D::Kv,
    free: Vec<u32>,
    made: u32,
    /// Pages that running samples may still take.
    promised: usize,
    max_pages: usize,
    page_bytes: usize,
    calls: Vec<(u64, Call)>,
    next_call: u64,
    waiting: VecDeque<Waiting>,
    active: Vec<Active>,
}

/// Prompt tokens that are prefilled in one pass.
const PREFILL: usize = 4096;

impl<D: Device> Sampler<D> {
    pub fn new(model: &Model<D>, kv_budget: u64) -> Self {
        let c = &model.config;
        let kv = model.dev.kv_new(c.layers, c.kv_heads, c.head_dim);
        let page_bytes = model.dev.kv_page_bytes(&kv);
        Self {
            kv,
            free: Vec::new(),
            made: 0,
            promised: 0,
            max_pages: (kv_budget / page_bytes as u64).min(1 << 30) as usize,
            page_bytes,
            calls: Vec::new(),
            next_call: 0,
            waiting: VecDeque::new(),
            active: Vec::new(),
        }
    }

    pub fn idle(&self) -> bool {
        self.calls.is_empty()
    }

    /// Check a job and queue it; a job that can never run is answered at once.
    pub fn submit(&mut self, model: &Model<D>, mut job: SampleJob) {
        if let Err(e) = job.requests.iter().enumerate().try_for_each(|(i, r)| self.check(model, i, r)) {
            (job.sink)(SampleEvent::Failed(e));
            return;
        }
        let left = job.requests.iter().map(|r| r.n).sum();
        if left == 0 {
            (job.sink)(SampleEvent::Done(Vec::new()));
            return;
        }
        let id = self.next_call;
        self.next_call += 1;
        for request in 0..job.requests.len() {
            self.waiting.push_back(Waiting { call: id, request, next: 0, prefix: None });
        }
        self.calls.push((
            id,
            Call {
                requests: job.requests,
                stream: job.stream,
                cancel: job.cancel,
                sink: job.sink,
                done: Vec::new(),
                left,
            },
        ));
    }

    fn check(&self, model: &Model<D>, i: usize, r: &SampleRequest) -> Result<()> {
        r.check(i, model)?;
        let tokens = r.max_tokens.min(model.config.context_length - r.prompt.len());
        let pages = r.prompt.len().div_ceil(PAGE) + tokens.div_ceil(PAGE);
        if pages > self.max_pages {
            bail!(
                "kv-too-small",
                "request {i} needs {} MiB of KV cache for {} + {} tokens and {} MiB may be used: ask for fewer tokens or \
                 allow more memory",
                (pages * self.page_bytes) >> 20,
                r.prompt.len(),
                r.max_tokens,
                (self.max_pages * self.page_bytes) >> 20
            );
        }
        Ok(())
    }

    fn in_use(&self) -> usize {
        self.made as usize - self.free.len() + self.promised
    }

    fn take_page(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        })
    }

    fn call(&mut self, id: u64) -> &mut Call {
        let i = self.calls.iter().position(|(c, _)| *c == id).expect("a sample's call outlives it");
        &mut self.calls[i].1
    }

    /// Admit what fits, then draw one token for every running sample. Call until `idle`.
    pub fn step(&mut self, model: &mut Model<D>) {
        self.drop_cancelled();
        self.admit(model);
        self.decode(model);
        if self.idle() && self.made > 0 {
            model.dev.kv_clear(&mut self.kv);
            self.free.clear();
            self.made = 0;
        }
    }

    /// End everything with the same error (a panic in a kernel).
    pub fn fail(&mut self, model: &Model<D>, e: &EngineError) {
        for (_, c) in &mut self.calls {
            (c.sink)(SampleEvent::Failed(EngineError::new(e.code, e.message.clone())));
        }
        self.calls.clear();
        self.waiting.clear();
        self.active.clear();
        self.free.clear();
        (self.made, self.promised) = (0, 0);
        model.dev.kv_clear(&mut self.kv);
    }

    /// End one call with an error.
    fn fail_call(&mut self, id: u64, e: EngineError) {
        let at = self.calls.iter().position(|(c, _)| *c == id).expect("a sample's call outlives it");
        let (_, mut call) = self.calls.remove(at);
        while let Some(i) = self.active.iter().position(|a| a.call == id) {
            self.leave(i);
        }
        while let Some(w) = self.waiting.iter().position(|w| w.call == id) {
            let w = self.waiting.remove(w).expect("position is in range");
            self.release_prefix(w.prefix);
        }
        (call.sink)(SampleEvent::Failed(e));
    }

    fn drop_cancelled(&mut self) {
        let cancelled: Vec<u64> =
            self.calls.iter().filter(|(_, c)| c.cancel.load(Relaxed)).map(|(id, _)| *id).collect();
        for id in cancelled {
            let mut i = 0;
            while i < self.active.len() {
                if self.active[i].call == id {
                    self.finish(i, StopReason::Cancelled);
                } else {
                    i += 1;
                }
            }
            while let Some(w) = self.waiting.iter().position(|w| w.call == id) {
                let w = self.waiting.remove(w).expect("position is in range");
                let n = self.call(id).requests[w.request].n;
                self.release_prefix(w.prefix);
                for index in w.next..n {
                    let sample = Sample {
                        request: w.request,
                        index,
                        tokens: vec![],
                        logprobs: vec![],
                        top_logprobs: vec![],
                        stop: StopReason::Cancelled,
                    };
                    self.deliver(id, sample);
                }
            }
        }
    }

    fn release_prefix(&mut self, prefix: Option<Arc<Prefix>>) {
        if let Some(p) = prefix.and_then(Arc::into_inner) {
            self.free.extend(p.pages);
        }
    }

    /// Take sample `i` out of the batch and give its pages back.
    fn leave(&mut self, i: usize) -> (u64, Sample) {
        let mut a = self.active.swap_remove(i);
        self.promised -= a.reserved - a.table.own.len();
        self.free.append(&mut a.table.own);
        self.release_prefix(Some(a.prefix));
        (a.call, a.sample)
    }

    fn finish(&mut self, i: usize, stop: StopReason) {
        let (call, sample) = self.leave(i);
        self.deliver(call, Sample { stop, ..sample });
    }

    fn deliver(&mut self, id: u64, sample: Sample) {
        let call = self.call(id);
        if call.stream.samples {
            (call.sink)(SampleEvent::Sample(sample.clone()));
        }
        call.done.push(sample);
        call.left -= 1;
        if call.left == 0 {
            let mut done = std::mem::take(&mut call.done);
            done.sort_by_key(|s| (s.request, s.index));
            (call.sink)(SampleEvent::Done(done));
            self.calls.retain(|(c, _)| *c != id);
        }
    }

    /// Prefill waiting prompts (each distinct one once) and start as many of their samples as memory allows.
    fn admit(&mut self, model: &mut Model<D>) {
        let mut room = PREFILL;
        let mut batch: Vec<(Vec<i32>, Vec<u32>)> = Vec::new();
        let mut users: Vec<(usize, usize)> = Vec::new(); // (index in waiting, index in batch)
        let mut reserved_for_new = 0;
        for w in 0..self.waiting.len() {
            if self.waiting[w].prefix.is_some() {
                continue;
            }
            let (call, request) = (self.waiting[w].call, self.waiting[w].request);
            let r = &self.call(call).requests[request];
            let (prompt, max_tokens) = (r.prompt.clone(), r.max_tokens);
            if let Some(b) = batch.iter().position(|(p, _)| *p == prompt) {
                users.push((w, b));
                continue;
            }
            if prompt.len() > room && !batch.is_empty() {
                break;
            }
            let pages = prompt.len().div_ceil(PAGE);
            let one = max_tokens.min(model.config.context_length - prompt.len()).div_ceil(PAGE);
            if self.in_use() + pages + one + reserved_for_new > self.max_pages {
                break;
            }
            reserved_for_new += one;
            room = room.saturating_sub(prompt.len());
            let pages: Vec<u32> = (0..pages).map(|_| self.take_page()).collect();
            users.push((w, batch.len()));
            batch.push((prompt, pages));
        }
        if !batch.is_empty() {
            let ids: Vec<i32> = batch.iter().flat_map(|(p, _)| p.iter().copied()).collect();
            let layout = Layout::sequences(&batch.iter().map(|(p, _)| p.len()).collect::<Vec<_>>())
                .expect("prompts are not empty");
            let at: Vec<(u32, u32)> = batch
                .iter()
                .flat_map(|(p, pages)| (0..p.len()).map(|t| (pages[t / PAGE], (t % PAGE) as u32)))
                .collect();
            let logits = model.prefill(&ids, &layout, &mut self.kv, &at);
            let v = model.config.vocab_size;
            let mut host = vec![0.0; batch.len() * v];
            model.dev.download(&logits, &mut host);
            drop(logits);
            if model.trainable == Trainable::None {
                // Decoding needs little of what a long prompt took. A model in training takes it all again soon.
                model.dev.trim();
            }
            let prefixes: Vec<Arc<Prefix>> = batch
                .into_iter()
                .enumerate()
                .map(|(i, (p, pages))| {
                    Arc::new(Prefix { pages, len: p.len(), logits: host[i * v..(i + 1) * v].to_vec() })
                })
                .collect();
            for (w, b) in users {
                self.waiting[w].prefix = Some(prefixes[b].clone());
            }
        }
        self.start(model);
    }

    fn start(&mut self, model: &Model<D>) {
        let mut i = 0;
        'waiting: while i < self.waiting.len() {
            let Some(prefix) = self.waiting[i].prefix.clone() else { break };
            let (id, request) = (self.waiting[i].call, self.waiting[i].request);
            let room = model.config.context_length - prefix.len;
            let r = self.call(id).requests[request].clone();
            let limit = r.max_tokens.min(room);
            let limit_reason = if r.max_tokens <= room { StopReason::Length } else { StopReason::ContextFull };
            let reserved = limit.div_ceil(PAGE);
            while self.waiting[i].next < r.n && (self.in_use() + reserved <= self.max_pages || self.active.is_empty()) {
                let index = self.waiting[i].next;
                let drawn = match draw(&prefix.logits, &r, index, 0) {
                    Ok(drawn) => drawn,
                    Err(e) => {
                        drop(prefix);
                        self.fail_call(id, e);
                        i = 0;
                        continue 'waiting;
                    }
                };
                self.waiting[i].next += 1;
                self.promised += reserved;
                let table =
                    PageTable { prefix: prefix.pages.clone(), prefix_len: prefix.len, own: Vec::new(), own_len: 0 };
                let sample = Sample {
                    request,
                    index,
                    tokens: vec![],
                    logprobs: vec![],
                    top_logprobs: vec![],
                    stop: limit_reason,
                };
                self.active.push(Active {
                    call: id,
                    request,
                    prefix: prefix.clone(),
                    table,
                    reserved,
                    limit,
                    limit_reason,
                    sample,
                });
                let last = self.active.len() - 1;
                self.accept(last, drawn, &r);
            }
            if self.waiting[i].next < r.n {
                // No memory for more: later requests wait too, so that a large one is not passed by for ever.
                return;
            }
            drop(prefix);
            let w = self.waiting.remove(i).expect("i is in range");
            self.release_prefix(w.prefix);
            i = 0;
        }
    }

    /// Take a drawn token into sample `i`; true when that ended the sample (it is gone from `active` then).
    fn accept(&mut self, i: usize, drawn: Drawn, r: &SampleRequest) -> bool {
        let a = &mut self.active[i];
        a.sample.tokens.push(drawn.token);
        a.sample.logprobs.push(drawn.logprob);
        if r.top_logprobs > 0 {
            a.sample.top_logprobs.push(drawn.top);
        }
        let (id, request, index) = (a.call, a.request, a.sample.index);
        let tokens = &a.sample.tokens;
        let stop = if r.stop_ids.contains(&drawn.token) {
            Some(StopReason::Eos)
        } else if r.stop_sequences.iter().any(|s| !s.is_empty() && tokens.ends_with(s)) {
            Some(StopReason::StopSequence)
        } else if tokens.len() >= a.limit {
            Some(a.limit_reason)
        } else {
            None
        };
        let call = self.call(id);
        if call.stream.tokens {
            (call.sink)(SampleEvent::Token { request, index, token: drawn.token, logprob: drawn.logprob });
        }
        if let Some(stop) = stop {
            self.finish(i, stop);
        }
        stop.is_some()
    }

    fn decode(&mut self, model: &mut Model<D>) {
        if self.active.is_empty() {
            return;
        }
        let n = self.active.len();
        let (mut ids, mut positions, mut at) = (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
        for i in 0..n {
            let own_len = self.active[i].table.own_len;
            if own_len.is_multiple_of(PAGE) {
                let page = self.take_page();
                self.promised -= 1;
                self.active[i].table.own.push(page);
            }
            let a = &mut self.active[i];
            ids.push(*a.sample.tokens.last().expect("a running sample has drawn a token"));
            positions.push((a.table.prefix_len + own_len) as u32);
            at.push((a.table.own[own_len / PAGE], (own_len % PAGE) as u32));
            a.table.own_len += 1;
        }
        let tables: Vec<&PageTable> = self.active.iter().map(|a| &a.table).collect();
        let logits = model.decode(&ids, &positions, &mut self.kv, &tables, &at);
        let v = model.config.vocab_size;
        let mut host = vec![0.0; n * v];
        model.dev.download(&logits, &mut host);
        drop(logits);
        let jobs: Vec<(&SampleRequest, usize, usize)> = self
            .active
            .iter()
            .map(|a| {
                let call = &self.calls.iter().find(|(c, _)| *c == a.call).expect("a sample's call outlives it").1;
                (&call.requests[a.request], a.sample.index, a.sample.tokens.len())
            })
            .collect();
        let drawn = model.dev.map_rows(n, |i| draw(&host[i * v..(i + 1) * v], jobs[i].0, jobs[i].1, jobs[i].2));
        let mut failed: Vec<(u64, EngineError)> = Vec::new();
        // From the back: a finished sample is replaced by the last one, which has been handled already.
        for (i, d) in drawn.into_iter().enumerate().rev() {
            let (id, request) = (self.active[i].call, self.active[i].request);
            let d = match d {
                Ok(d) => d,
                Err(e) => {
                    failed.push((id, e));
                    continue;
                }
            };
            let at = self.calls.iter().position(|(c, _)| *c == id).expect("a sample's call outlives it");
            let r = std::mem::take(&mut self.calls[at].1.requests[request]);
            let ended = self.accept(i, d, &r);
            if !ended || self.calls.iter().any(|(c, _)| *c == id) {
                self.call(id).requests[request] = r;
            }
        }
        for (id, e) in failed {
            // Several samples of one call may have failed.
            if self.calls.iter().any(|(c, _)| *c == id) {
                self.fail_call(id, e);
            }
        }
    }
}
