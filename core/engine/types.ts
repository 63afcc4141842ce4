/**
 * What the engine takes and gives. The engine sees token ids, never text.
 *
 * Every array of token ids is an `Int32Array`; log-probabilities are natural logs in a `Float32Array`.
 */

/** A model file or folder as the engine opened it. */
export interface ModelInfo {
  /** Hugging Face `model_type`: `llama`, `qwen2`, `qwen3` or `gemma3_text`. */
  architecture: string;
  parameters: number;
  trainableParameters: number;
  vocabSize: number;
  hiddenSize: number;
  layers: number;
  /** Longest sequence that the model was made for, in tokens. */
  contextLength: number;
  /** Bytes of weights as stored in the file. */
  weightBytes: number;
  /** How most weights are held: `F32`, `BF16`, `Q4_1`, … */
  dtype: string;
  tiedEmbeddings: boolean;
  /** KV-cache bytes that one token of one sequence takes while sampling. */
  kvBytesPerToken: number;
  /** `full`, `lora` or `none`: what an optimizer step changes. */
  trainable: "full" | "lora" | "none";
  /** Whether a value head is attached. It is counted in no other field. */
  valueHead: boolean;
}

export interface OpenOptions {
  /** `full` makes every weight trainable (held in fp32); `none` (default) keeps the file's own format. LoRA: open with `none`, then `attachLora`. */
  trainable?: "full" | "none";
  /** Threads for this process's engine; default: all cores. */
  threads?: number;
  /** Refuse (with numbers) what would need more than this. Bytes. */
  memoryLimit?: number;
}

export interface OpenProgress {
  stage: string;
  done: number;
  total: number;
}

export interface SampleRequest {
  prompt: Int32Array;
  /** Samples of this prompt; they share one prefill. Default 1. */
  n?: number;
  maxTokens: number;
  /** 0 is greedy. Default 1. */
  temperature?: number;
  /** 0 is off (default). */
  topK?: number;
  /** 1 is off (default). */
  topP?: number;
  /** 0 is off (default). */
  minP?: number;
  /** Sample i of a request draws from (seed, i): reproducible whatever else is in the batch. */
  seed: number;
  /** A sampled stop id ends the sample; it is part of `tokens`. */
  stopIds?: number[];
  /** A sample whose last tokens equal one of these ends; they are part of `tokens`. */
  stopSequences?: number[][];
  /** `allowed[i]`: the only ids that may be drawn at generated position i (empty: any). Positions past the end: any. */
  allowed?: number[][];
  /** Also return the k most likely tokens of every position. Default 0. */
  topLogprobs?: number;
}

export type EngineStopReason = "eos" | "stop_sequence" | "length" | "context_full" | "cancelled";

export interface Sample {
  /** Index of the request and of the sample within it. */
  request: number;
  index: number;
  tokens: Int32Array;
  /** Log-prob of each token under the policy: temperature 1, untruncated, whatever the sampling settings were. */
  logprobs: Float32Array;
  stopReason: EngineStopReason;
  /** Per position: [id, logprob] pairs, most likely first. */
  topLogprobs?: [number, number][][];
}

/** One token as it is drawn. */
export interface TokenEvent {
  request: number;
  index: number;
  token: number;
  logprob: number;
}

/**
 * A packed batch. `tokens` holds the segments one after another. A segment with a `parent` continues that
 * earlier segment (same positions and attention as if the parent's tokens stood before it), so n answers to one
 * prompt are one prompt segment and n child segments. A parent has no parent itself.
 */
export interface Batch {
  tokens: Int32Array;
  segments: { length: number; parent?: number }[];
  /** 1 where the token's log-prob is wanted (and where a gradient may be given). Default: every token that has context. */
  mask?: Uint8Array;
}

/** Aligned with `Batch.tokens`: entry i is about token i given all before it. NaN where it was not asked or has no context. */
export interface ForwardResult {
  logprobs: Float32Array;
  entropy: Float32Array;
  /** 1 where no token was more likely than the batch's own; 0 elsewhere, and where it was not asked or has no context. */
  correct: Uint8Array;
  /** With `values`: what the value head says before token i, at the position that predicts it. */
  values?: Float32Array;
  /** With `values`, one per segment: the value after the segment's last token, for rows that were cut off there. No gradient. */
  endValues?: Float32Array;
}

/** Where the gradients of values go: into the head and the weights below it, or into the head alone. */
export type ValuesMode = "shared" | "detached";

export interface ForwardOptions {
  /** Keep what `backward` needs. Default false. */
  grad?: boolean;
  /** Divide logits by this first. Default 1. */
  temperature?: number;
  /** Also return the value head's values. */
  values?: ValuesMode;
}

export interface LoraOptions {
  r: number;
  lora_alpha: number;
  lora_dropout?: number;
  /** Module names such as `q_proj`; default all linear layers of the blocks. */
  target_modules?: string[];
  seed: number;
}

export interface OptimStepOptions {
  /** `null`: the model's (or adapter's) weights, moments and step count stay as they are. */
  lr: number | null;
  /** The value head's; `null`: the head stays as it is. Default `lr`. */
  valueLr?: number | null;
  /** Default [0.9, 0.999]. */
  betas?: [number, number];
  /** Default 1e-8. */
  eps?: number;
  weightDecay?: number;
  /** Global L2 norm; 0 is off. The value head's gradients are clipped to it by a norm of their own. */
  maxGradNorm?: number;
  /** Decay norms, biases and other 1-D tensors too. Default false. */
  decayAll?: boolean;
}

export interface OptimStepResult {
  /** Global L2 norm before clipping, without the value head's gradients. */
  gradNorm: number;
  /** The value head's, when there is one. */
  valueGradNorm?: number;
  /** Share of trainable elements whose stored value changed, the value head's left out. 0 with `lr: null`. */
  shareWeightsChanged: number;
  /** Non-finite gradient elements, the value head's included; when above 0 nothing was stepped. */
  nonFinite: number;
}

export type SaveDtype = "F32" | "BF16" | "F16";

/**
 * A training micro-batch of `tokens` tokens with `targets` of them scored, and/or sampling `sequences` × `length` tokens,
 * `prefill` of them prompts that go through the model in one pass (at most 4096, or one longer prompt).
 */
export interface MemoryPlan {
  tokens?: number;
  targets?: number;
  sequences?: number;
  length?: number;
  prefill?: number;
}

export interface MemoryEstimate {
  weights: number;
  gradients: number;
  optimizer: number;
  activations: number;
  kvCache: number;
  total: number;
}

export interface Device {
  name: string;
  kind: "cpu" | "gpu";
  memoryTotal: number;
  memoryFree: number;
  threads: number;
  /** Instruction set in use: `avx512`, `avx2`, `neon`, `scalar`. */
  simd: string;
  /** What it is good for, in words. */
  note: string;
}

export interface SampleOptions {
  /** Every token as it is drawn. */
  onToken?: (event: TokenEvent) => void;
  /** Every sample as soon as it has ended, after its tokens: the very objects that the call resolves with. */
  onSample?: (sample: Sample) => void;
  /** Aborting it ends the running samples with `cancelled` within one step. */
  signal?: AbortSignal;
}

/** An opened model. Calls queue in order; sampling requests join a running batch. */
export interface Model {
  readonly path: string;
  info(): ModelInfo;
  /**
   * Resolves in request order, then sample order. A listener that throws ends the call with what it threw. Rejects with
   * `non-finite-logits` when the model computes NaN or infinity.
   */
  sample(requests: SampleRequest[], options?: SampleOptions): Promise<Sample[]>;
  /** Rejects with `no-value-head` when values are asked of a model without one. */
  forward(batch: Batch, options?: ForwardOptions): Promise<ForwardResult>;
  /**
   * Gradients of the loss with respect to the last `forward({grad: true})` result, same alignment; adds to the gradients of
   * the trainable set. With `null` for the log-probs and values that are `detached` only the head's are made, which costs
   * next to nothing. Rejects with `no-values` when `dValues` are given and the forward was not asked for values.
   */
  backward(dLogprobs: Float32Array | null, dEntropy?: Float32Array, dValues?: Float32Array): Promise<void>;
  /**
   * A value head on the final normed hidden state, zero at first, trained beside the weights or the adapter. Weight and adapter
   * files are written without it; `saveState` holds it. Rejects with `value-head-exists`.
   */
  attachValueHead(): Promise<void>;
  /** One AdamW step on the accumulated gradients, which are cleared. */
  optimStep(options: OptimStepOptions): Promise<OptimStepResult>;
  zeroGrad(): Promise<void>;
  attachLora(options: LoraOptions): Promise<void>;
  /** Fold the adapter into dense fp32 weights. */
  mergeLora(): Promise<void>;
  /** Run `fn` with the adapter off: the base is the reference model. */
  withoutLora<T>(fn: () => Promise<T>): Promise<T>;
  /** Writes `model.safetensors` and `config.json` to a Hugging Face folder; default `F32`. */
  saveWeights(folder: string, dtype?: SaveDtype): Promise<void>;
  /** Writes `adapter_model.safetensors` and `adapter_config.json` (PEFT). */
  saveAdapter(folder: string): Promise<void>;
  loadAdapter(folder: string): Promise<void>;
  /** Optimizer moments and step counts, and the value head with its weights: `optimizer.safetensors`. */
  saveState(file: string): Promise<void>;
  /** Attaches the file's value head when it has one, in the place of the model's own. */
  loadState(file: string): Promise<void>;
  /** Bytes that `plan` will need in all, weights included. */
  estimateMemory(plan: MemoryPlan): Promise<MemoryEstimate>;
  /** Bytes of engine buffers alive now, and the most so far. */
  memory(): Promise<{ live: number; peak: number }>;
  /** Frees weights, gradients and caches. Later calls reject with code `closed`. */
  close(): Promise<void>;
}

export interface Engine {
  version: string;
  devices(): Device[];
  open(path: string, options?: OpenOptions, onProgress?: (progress: OpenProgress) => void): Promise<Model>;
}
