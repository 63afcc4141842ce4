//! Continuous batching: requests join and leave a running batch; the samples of one prompt share its prefill.
//!
//! A sample's tokens depend on its prompt, settings, seed and index only, never on what else is in the batch: every kernel
//! treats rows independently, and the random number of a position is a hash of (seed, index, position).

use crate::bail;
use crate::cpu::row_stats;
use crate::device::{Device, PageTable, PAGE};
use crate::error::{EngineError, Result};
use crate::layout::Layout;
use crate::model::Model;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Eos,
    StopSequence,
    Length,
    ContextFull,
    Cancelled,
}

impl StopReason {
    pub fn name(self) -> &'static str {
        match self {
            StopReason::Eos => "eos",
            StopReason::StopSequence => "stop_sequence",
            StopReason::Length => "length",
            StopReason::ContextFull => "context_full",
            StopReason::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone)]
pub struct SampleRequest {
    pub prompt: Vec<i32>,
    pub n: usize,
    pub max_tokens: usize,
    /// 0 is greedy.
    pub temperature: f32,
    /// 0 is off.
    pub top_k: usize,
    /// 1 is off.
    pub top_p: f32,
    /// 0 is off.
    pub min_p: f32,
    pub seed: u64,
    pub stop_ids: Vec<i32>,
    pub stop_sequences: Vec<Vec<i32>>,
    /// Ids that may be drawn at each position; empty: any.
    pub allowed: Vec<Vec<i32>>,
    pub top_logprobs: usize,
}

impl Default for SampleRequest {
    fn default() -> Self {
        Self {
            prompt: Vec::new(),
            n: 1,
            max_tokens: 16,
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            seed: 0,
            stop_ids: Vec::new(),
            stop_sequences: Vec::new(),
            allowed: Vec::new(),
            top_logprobs: 0,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Sample {
    pub request: usize,
    pub index: usize,
    pub tokens: Vec<i32>,
    /// Under the policy itself: temperature 1, untruncated.
    pub logprobs: Vec<f32>,
    pub top_logprobs: Vec<Vec<(i32, f32)>>,
    pub stop: StopReason,
}

pub enum SampleEvent {
    Token { request: usize, index: usize, token: i32, logprob: f32 },
    Done(Vec<Sample>),
    Failed(EngineError),
}

/// A call of `sample`: several requests, answered together.
pub struct SampleJob {
    pub requests: Vec<SampleRequest>,
    pub stream: bool,
    pub cancel: Arc<AtomicBool>,
    pub sink: Box<dyn FnMut(SampleEvent) + Send>,
}

struct Call {
    requests: Vec<SampleRequest>,
    stream: bool,
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
        let context = model.config.context_length;
        if r.prompt.is_empty() {
            bail!("bad-request", "request {i} has an empty prompt: give it at least one token");
        }
        if r.prompt.len() >= context {
            bail!("too-long", "request {i} has a prompt of {} tokens, and the model's context is {context}: nothing could be generated", r.prompt.len());
        }
        if r.max_tokens == 0 {
            bail!("bad-request", "request {i} asks for 0 tokens: max_tokens must be at least 1");
        }
        if !(r.temperature.is_finite() && r.temperature >= 0.0) {
            bail!("bad-request", "request {i}: temperature must be a number of at least 0, not {}", r.temperature);
        }
        if !(r.top_p > 0.0 && r.top_p <= 1.0) || !(0.0..1.0).contains(&r.min_p) {
            bail!(
                "bad-request",
                "request {i}: top_p must be in (0, 1] and min_p in [0, 1), not {} and {}",
                r.top_p,
                r.min_p
            );
        }
        model.check_ids(&r.prompt)?;
        for a in &r.allowed {
            model.check_ids(a)?;
        }
        let pages = r.prompt.len().div_ceil(PAGE) + r.max_tokens.min(context - r.prompt.len()).div_ceil(PAGE);
        if pages > self.max_pages {
            bail!(
                "kv-too-small",
                "request {i} needs {} MiB of KV cache for {} + {} tokens and {} MiB may be used: ask for fewer tokens or allow more memory",
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

    fn finish(&mut self, i: usize, stop: StopReason) {
        let mut a = self.active.swap_remove(i);
        self.promised -= a.reserved - a.table.own.len();
        self.free.append(&mut a.table.own);
        a.sample.stop = stop;
        self.release_prefix(Some(a.prefix));
        self.deliver(a.call, a.sample);
    }

    fn deliver(&mut self, id: u64, sample: Sample) {
        let call = self.call(id);
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
        while i < self.waiting.len() {
            let Some(prefix) = self.waiting[i].prefix.clone() else { break };
            let (id, request) = (self.waiting[i].call, self.waiting[i].request);
            let room = model.config.context_length - prefix.len;
            let r = self.call(id).requests[request].clone();
            let limit = r.max_tokens.min(room);
            let limit_reason = if r.max_tokens <= room { StopReason::Length } else { StopReason::ContextFull };
            let reserved = limit.div_ceil(PAGE);
            while self.waiting[i].next < r.n && (self.in_use() + reserved <= self.max_pages || self.active.is_empty()) {
                let index = self.waiting[i].next;
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
                let drawn = draw(&prefix.logits, &r, index, 0);
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
        if call.stream {
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
            if own_len % PAGE == 0 {
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
        // From the back: a finished sample is replaced by the last one, which has been handled already.
        for (i, d) in drawn.into_iter().enumerate().rev() {
            let (id, request) = (self.active[i].call, self.active[i].request);
            let at = self.calls.iter().position(|(c, _)| *c == id).expect("a sample's call outlives it");
            let r = std::mem::take(&mut self.calls[at].1.requests[request]);
            let ended = self.accept(i, d, &r);
            if !ended || self.calls.iter().any(|(c, _)| *c == id) {
                self.call(id).requests[request] = r;
            }
        }
    }
}

struct Drawn {
    token: i32,
    logprob: f32,
    top: Vec<(i32, f32)>,
}

/// A number in [0, 1) that depends on (seed, sample, position) alone.
fn uniform(seed: u64, index: usize, position: usize) -> f64 {
    let mut z = seed
        ^ (index as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93)
        ^ (position as u64).wrapping_mul(0xA076_1D64_78BD_642F);
    for _ in 0..2 {
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
    }
    (z >> 11) as f64 / (1u64 << 53) as f64
}

fn argmax(z: &[f32]) -> usize {
    let mut best = 0;
    for (i, &x) in z.iter().enumerate() {
        if x > z[best] {
            best = i;
        }
    }
    best
}

/// Draw from softmax(z / T) after top-k, then top-p, then min-p (transformers' order).
fn draw(z: &[f32], r: &SampleRequest, index: usize, position: usize) -> Drawn {
    let (lse, _) = row_stats(z, 1.0);
    let allowed = r.allowed.get(position).filter(|a| !a.is_empty());
    let token = match allowed {
        None if r.temperature == 0.0 => argmax(z),
        None if r.top_k == 0 && r.top_p >= 1.0 && r.min_p == 0.0 => {
            let inv = 1.0 / r.temperature;
            let (total, _) = if r.temperature == 1.0 { (lse, 0.0) } else { row_stats(z, inv) };
            let u = uniform(r.seed, index, position);
            let mut sum = 0f64;
            let mut chosen = None;
            for (i, &x) in z.iter().enumerate() {
                sum += f64::from((x * inv - total).exp());
                if sum > u {
                    chosen = Some(i);
                    break;
                }
            }
            // Rounding can leave the sum a hair under 1.
            chosen.unwrap_or_else(|| argmax(z))
        }
        _ => {
            let mut ids: Vec<usize> =
                allowed.map_or_else(|| (0..z.len()).collect(), |a| a.iter().map(|&i| i as usize).collect());
            ids.sort_by(|&a, &b| z[b].total_cmp(&z[a]).then(a.cmp(&b)));
            ids.dedup();
            pick(z, &ids, r, uniform(r.seed, index, position))
        }
    };
    let top = if r.top_logprobs > 0 {
        let mut ids: Vec<usize> = (0..z.len()).collect();
        let k = r.top_logprobs.min(z.len());
        ids.select_nth_unstable_by(k - 1, |&a, &b| z[b].total_cmp(&z[a]).then(a.cmp(&b)));
        ids.truncate(k);
        ids.sort_by(|&a, &b| z[b].total_cmp(&z[a]).then(a.cmp(&b)));
        ids.into_iter().map(|i| (i as i32, z[i] - lse)).collect()
    } else {
        Vec::new()
    };
    Drawn { token: token as i32, logprob: z[token] - lse, top }
}

/// From candidates sorted by falling logit.
fn pick(z: &[f32], ids: &[usize], r: &SampleRequest, u: f64) -> usize {
    if r.temperature == 0.0 {
        return ids[0];
    }
    let mut n = if r.top_k > 0 { r.top_k.min(ids.len()) } else { ids.len() };
    let best = f64::from(z[ids[0]]);
    let p: Vec<f64> = ids[..n].iter().map(|&i| ((f64::from(z[i]) - best) / f64::from(r.temperature)).exp()).collect();
    if r.top_p < 1.0 {
        let total: f64 = p[..n].iter().sum();
        let mut sum = 0.0;
        let keep = p[..n].iter().position(|x| {
            sum += x / total;
            sum >= f64::from(r.top_p)
        });
        n = keep.map_or(n, |k| k + 1);
    }
    if r.min_p > 0.0 {
        n = p[..n].iter().take_while(|&&x| x >= f64::from(r.min_p) * p[0]).count().max(1);
    }
    let total: f64 = p[..n].iter().sum();
    let mut sum = 0.0;
    for i in 0..n {
        sum += p[i] / total;
        if sum > u {
            return ids[i];
        }
    }
    ids[n - 1]
}
