//! A model as JavaScript sees it: every call returns a promise that the model's own thread settles.

use crate::convert::*;
use hone_engine::cpu::Cpu;
use hone_engine::device::{Device, PAGE};
use hone_engine::error::{EngineError, Result};
use hone_engine::formats::{Checkpoint, Dtype};
use hone_engine::layout::Layout;
use hone_engine::model::{Batch, MemoryPlan, Model, Trainable, Values};
use hone_engine::request::{SampleEvent, SampleJob, SampleRequest, Stream};
use hone_engine::session::Session;
use napi::bindgen_prelude::{Float32Array, FnArgs, Function, Object, ToNapiValue};
use napi::threadsafe_function::ThreadsafeFunctionCallMode::NonBlocking;
use napi::{Env, JsDeferred};
use napi_derive::napi;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

type Settle<T> = Box<dyn FnOnce(Env) -> napi::Result<T> + Send>;

fn settle<T: ToNapiValue + Send + 'static>(deferred: JsDeferred<T, Settle<T>>, result: Result<T>) {
    match result {
        Ok(value) => deferred.resolve(Box::new(move |_| Ok(value))),
        Err(e) => deferred.reject(error(e)),
    }
}

fn info(m: &Model<Cpu>) -> NativeModelInfo {
    let c = &m.config;
    let (live, peak) = m.dev.memory();
    NativeModelInfo {
        architecture: model_type(c.architecture),
        parameters: m.parameters() as f64,
        trainable_parameters: m.trainable_parameters() as f64,
        vocab_size: c.vocab_size as u32,
        hidden_size: c.hidden_size as u32,
        layers: c.layers as u32,
        context_length: c.context_length as u32,
        weight_bytes: m.weight_bytes as f64,
        dtype: m.dtype.to_string(),
        tied_embeddings: c.tied_embeddings,
        kv_bytes_per_token: kv_bytes_per_token(c),
        trainable: match m.trainable {
            Trainable::Full => "full",
            Trainable::Lora => "lora",
            Trainable::None => "none",
        }
        .to_string(),
        value_head: m.value_head.is_some(),
        eos_token_ids: c.eos_token_ids.clone(),
        optimizer_steps: m.steps as f64,
        memory_live: live as f64,
        memory_peak: peak as f64,
    }
}

/// Ends the samples of one call.
#[napi]
#[derive(Default)]
pub struct NativeCancel {
    flag: Arc<AtomicBool>,
}

#[napi]
impl NativeCancel {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }
    #[napi]
    pub fn cancel(&self) {
        self.flag.store(true, Relaxed);
    }
}

#[napi]
pub struct NativeModel {
    session: Session<Cpu>,
}

type OnReady<'a> = Function<'a, FnArgs<(Option<String>, Option<NativeModelInfo>)>, ()>;

/// Open a safetensors folder or a GGUF file. `onReady` gets an error text, or null and the model's description.
#[napi(
    ts_args_type = "path: string, options: NativeOpenOptions, onProgress: (done: number, total: number) => void, onReady: (error: string | null, info: NativeModelInfo | null) => void"
)]
pub fn open_model(
    path: String,
    options: NativeOpenOptions,
    on_progress: Function<'_, FnArgs<(f64, f64)>, ()>,
    on_ready: OnReady<'_>,
) -> napi::Result<NativeModel> {
    let progress = on_progress.build_threadsafe_function().callee_handled::<false>().build()?;
    let ready = on_ready.build_threadsafe_function().callee_handled::<false>().build()?;
    let limit = options.memory_limit as u64;
    let load = move || {
        let file = Checkpoint::open(&PathBuf::from(&path))?;
        let need = if options.full { file.parameters() * 16 } else { file.weight_bytes };
        if need > limit {
            return Err(EngineError::new(
                "out-of-memory",
                format!(
                    "{path} needs about {} MiB {} and {} MiB may be used: {}",
                    need >> 20,
                    if options.full { "to train all its weights" } else { "for its weights" },
                    limit >> 20,
                    if options.full {
                        "train an adapter (LoRA) instead, or allow more memory"
                    } else {
                        "use a smaller or quantised model, or allow more memory"
                    }
                ),
            ));
        }
        let dev = Arc::new(Cpu::new(options.threads.max(1) as usize));
        let mut last = 0;
        let mut model = Model::load(dev, &file, options.full, &mut |done, total| {
            if done - last > total / 50 || done == total {
                last = done;
                progress.call((done as f64, total as f64).into(), NonBlocking);
            }
        })?;
        model.memory_limit = limit;
        Ok(model)
    };
    let budget = move |m: &Model<Cpu>| limit.saturating_sub(m.weight_bytes).max((PAGE * 1024) as u64);
    let session = Session::open(load, budget, info, move |r| {
        let args = match r {
            Ok(i) => (None, Some(i)),
            Err(e) => (Some(error(e).reason.clone()), None),
        };
        ready.call(args.into(), NonBlocking);
    });
    Ok(NativeModel { session })
}

#[napi]
impl NativeModel {
    fn run<'e, T: ToNapiValue + Send + 'static>(
        &self,
        env: &'e Env,
        f: impl FnOnce(&mut Model<Cpu>) -> Result<T> + Send + 'static,
    ) -> napi::Result<Object<'e>> {
        let (deferred, promise) = env.create_deferred::<T, Settle<T>>()?;
        self.session.call(f, move |r| settle(deferred, r));
        Ok(promise)
    }

    #[napi(ts_return_type = "Promise<NativeModelInfo>")]
    pub fn info<'e>(&self, env: &'e Env) -> napi::Result<Object<'e>> {
        self.run(env, |m| Ok(info(m)))
    }

    /// `tokens` and `samples`: whether `onEvent` gets every token, and every sample that has ended, in order.
    #[napi(
        ts_return_type = "Promise<NativeSamples>",
        ts_args_type = "requests: NativeSampleRequest[], cancel: NativeCancel, tokens: boolean, samples: boolean, onEvent?: (event: NativeSampleEvent) => void"
    )]
    pub fn sample<'e>(
        &self,
        env: &'e Env,
        requests: Vec<NativeSampleRequest>,
        cancel: &NativeCancel,
        tokens: bool,
        samples: bool,
        on_event: Option<Function<'_, NativeSampleEvent, ()>>,
    ) -> napi::Result<Object<'e>> {
        let (deferred, promise) = env.create_deferred::<NativeSamples, Settle<NativeSamples>>()?;
        let listener = match on_event {
            Some(f) => Some(f.build_threadsafe_function().callee_handled::<false>().build()?),
            None => None,
        };
        let mut deferred = Some(deferred);
        let tell = move |token: Option<NativeToken>, sample: Option<NativeSamples>| {
            if let Some(f) = &listener {
                f.call(NativeSampleEvent { token, sample }, NonBlocking);
            }
        };
        let sink = move |event: SampleEvent| match event {
            SampleEvent::Token { request, index, token, logprob } => {
                let (request, index, logprob) = (request as u32, index as u32, f64::from(logprob));
                tell(Some(NativeToken { request, index, token, logprob }), None);
            }
            SampleEvent::Sample(sample) => tell(None, Some(NativeSamples::from(&[sample][..]))),
            SampleEvent::Done(samples) => {
                if let Some(d) = deferred.take() {
                    settle(d, Ok(NativeSamples::from(&samples[..])));
                }
            }
            SampleEvent::Failed(e) => {
                if let Some(d) = deferred.take() {
                    settle(d, Err(e));
                }
            }
        };
        self.session.sample(SampleJob {
            requests: requests.into_iter().map(SampleRequest::from).collect(),
            stream: Stream { tokens, samples },
            cancel: cancel.flag.clone(),
            sink: Box::new(sink),
        });
        Ok(promise)
    }

    #[napi(ts_return_type = "Promise<NativeScores>")]
    pub fn forward<'e>(&self, env: &'e Env, batch: NativeBatch) -> napi::Result<Object<'e>> {
        let ids = batch.tokens.to_vec();
        let mask = batch.mask.map(|m| m.to_vec()).unwrap_or_default();
        let segments: Vec<(usize, Option<usize>)> = batch
            .segments
            .chunks_exact(2)
            .map(|s| (s[0].max(0) as usize, (s[1] >= 0).then_some(s[1] as usize)))
            .collect();
        let (grad, temperature) = (batch.grad, batch.temperature as f32);
        let values = batch.values.map(|v| if v == "detached" { Values::Detached } else { Values::Shared });
        self.run(env, move |m| {
            let layout = Layout::new(&segments)?;
            Ok(NativeScores::from(m.forward(Batch { ids, layout, mask }, grad, temperature, values)?))
        })
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn backward<'e>(
        &self,
        env: &'e Env,
        d_logprobs: Option<Float32Array>,
        d_entropy: Option<Float32Array>,
        d_values: Option<Float32Array>,
    ) -> napi::Result<Object<'e>> {
        let [d, e, v] = [d_logprobs, d_entropy, d_values].map(|d| d.map(|d| d.to_vec()));
        self.run(env, move |m| m.backward(d.as_deref(), e.as_deref(), v.as_deref()))
    }

    #[napi(ts_return_type = "Promise<NativeOptimResult>")]
    pub fn optim_step<'e>(&self, env: &'e Env, options: NativeOptim) -> napi::Result<Object<'e>> {
        self.run(env, move |m| {
            let r = m.optim_step(options.into())?;
            Ok(NativeOptimResult {
                grad_norm: r.grad_norm,
                value_grad_norm: r.value_grad_norm,
                share_weights_changed: r.share_weights_changed,
                non_finite: r.non_finite as f64,
            })
        })
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn zero_grad<'e>(&self, env: &'e Env) -> napi::Result<Object<'e>> {
        self.run(env, |m| {
            m.zero_grad();
            Ok(())
        })
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn attach_lora<'e>(&self, env: &'e Env, options: NativeLora) -> napi::Result<Object<'e>> {
        self.run(env, move |m| m.attach_lora(options.into()))
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn merge_lora<'e>(&self, env: &'e Env) -> napi::Result<Object<'e>> {
        self.run(env, Model::merge_lora)
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn attach_value_head<'e>(&self, env: &'e Env) -> napi::Result<Object<'e>> {
        self.run(env, Model::attach_value_head)
    }

    /// The adapter on or off, for every later call.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn set_lora<'e>(&self, env: &'e Env, on: bool) -> napi::Result<Object<'e>> {
        self.run(env, move |m| {
            m.lora_on = on;
            Ok(())
        })
    }

    #[napi(ts_return_type = "Promise<void>", ts_args_type = "folder: string, dtype: 'F32' | 'BF16' | 'F16'")]
    pub fn save_weights<'e>(&self, env: &'e Env, folder: String, dtype: String) -> napi::Result<Object<'e>> {
        let dtype = match dtype.as_str() {
            "BF16" => Dtype::BF16,
            "F16" => Dtype::F16,
            _ => Dtype::F32,
        };
        self.run(env, move |m| m.save_weights(&PathBuf::from(folder), dtype))
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn save_adapter<'e>(&self, env: &'e Env, folder: String) -> napi::Result<Object<'e>> {
        self.run(env, move |m| m.save_adapter(&PathBuf::from(folder)))
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn load_adapter<'e>(&self, env: &'e Env, folder: String) -> napi::Result<Object<'e>> {
        self.run(env, move |m| m.load_adapter(&PathBuf::from(folder)))
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn save_state<'e>(&self, env: &'e Env, file: String) -> napi::Result<Object<'e>> {
        self.run(env, move |m| m.save_state(&PathBuf::from(file)))
    }

    #[napi(ts_return_type = "Promise<void>")]
    pub fn load_state<'e>(&self, env: &'e Env, file: String) -> napi::Result<Object<'e>> {
        self.run(env, move |m| m.load_state(&PathBuf::from(file)))
    }

    #[napi(ts_return_type = "Promise<NativeMemory>")]
    pub fn estimate_memory<'e>(&self, env: &'e Env, plan: NativeMemoryPlan) -> napi::Result<Object<'e>> {
        let plan = MemoryPlan::from(plan);
        self.run(env, move |m| Ok(NativeMemory::from(m.estimate_memory(plan))))
    }

    /// Resolves when the memory is free. Later calls are refused.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close<'e>(&self, env: &'e Env) -> napi::Result<Object<'e>> {
        let (deferred, promise) = env.create_deferred::<(), Settle<()>>()?;
        self.session.close(move || settle(deferred, Ok(())));
        Ok(promise)
    }
}
