//! What a caller asks of the sampler, and what it answers.

use crate::bail;
use crate::device::Device;
use crate::error::{EngineError, Result};
use crate::model::Model;
use std::sync::atomic::AtomicBool;
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

impl SampleRequest {
    /// Whether this model can run request number `i` of a call, as far as the request itself tells.
    ///
    /// # Errors
    /// `bad-request`, `too-long`, `bad-token`, naming the request.
    pub(crate) fn check<D: Device>(&self, i: usize, model: &Model<D>) -> Result<()> {
        let context = model.config.context_length;
        if self.prompt.is_empty() {
            bail!("bad-request", "request {i} has an empty prompt: give it at least one token");
        }
        if self.prompt.len() >= context {
            bail!(
                "too-long",
                "request {i} has a prompt of {} tokens, and the model's context is {context}: nothing could be generated",
                self.prompt.len()
            );
        }
        if self.max_tokens == 0 {
            bail!("bad-request", "request {i} asks for 0 tokens: max_tokens must be at least 1");
        }
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            bail!("bad-request", "request {i}: temperature must be a number of at least 0, not {}", self.temperature);
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0 && (0.0..1.0).contains(&self.min_p)) {
            bail!(
                "bad-request",
                "request {i}: top_p must be in (0, 1] and min_p in [0, 1), not {} and {}",
                self.top_p,
                self.min_p
            );
        }
        model.check_ids(&self.prompt)?;
        self.allowed.iter().try_for_each(|a| model.check_ids(a))
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
    Token {
        request: usize,
        index: usize,
        token: i32,
        logprob: f32,
    },
    /// A sample that has just ended; `Done` has it once more.
    Sample(Sample),
    Done(Vec<Sample>),
    Failed(EngineError),
}

/// What is told while a call runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stream {
    pub tokens: bool,
    pub samples: bool,
}

/// A call of `sample`: several requests, answered together.
pub struct SampleJob {
    pub requests: Vec<SampleRequest>,
    pub stream: Stream,
    pub cancel: Arc<AtomicBool>,
    pub sink: Box<dyn FnMut(SampleEvent) + Send>,
}
