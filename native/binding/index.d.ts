// Generated from native/binding/src by the native build. Do not edit: `npm run setup` writes it.

/** Ends the samples of one call. */
export declare class NativeCancel {
  constructor()
  cancel(): void
}

export declare class NativeModel {
  info(): Promise<NativeModelInfo>
  /** `tokens` and `samples`: whether `onEvent` gets every token, and every sample that has ended, in order. */
  sample(requests: NativeSampleRequest[], cancel: NativeCancel, tokens: boolean, samples: boolean, onEvent?: (event: NativeSampleEvent) => void): Promise<NativeSamples>
  forward(batch: NativeBatch): Promise<NativeScores>
  backward(dLogprobs?: Float32Array | undefined | null, dEntropy?: Float32Array | undefined | null, dValues?: Float32Array | undefined | null): Promise<void>
  optimStep(options: NativeOptim): Promise<NativeOptimResult>
  zeroGrad(): Promise<void>
  attachLora(options: NativeLora): Promise<void>
  mergeLora(): Promise<void>
  attachValueHead(): Promise<void>
  /** The adapter on or off, for every later call. */
  setLora(on: boolean): Promise<void>
  saveWeights(folder: string, dtype: 'F32' | 'BF16' | 'F16'): Promise<void>
  saveAdapter(folder: string): Promise<void>
  loadAdapter(folder: string): Promise<void>
  saveState(file: string): Promise<void>
  loadState(file: string): Promise<void>
  estimateMemory(plan: NativeMemoryPlan): Promise<NativeMemory>
  /** Resolves when the memory is free. Later calls are refused. */
  close(): Promise<void>
}

/** A new model with random weights: writes `config.json` and `model.safetensors` into `folder`. Blocks while it writes. */
export declare function createModel(folder: string, configJson: string, seed: number): void

export declare function engineInfo(): EngineInfo

export interface EngineInfo {
  version: string
  /** Instruction set in use: `avx512`, `avx2`, `neon` or `scalar`. */
  simd: string
}

/** GFLOP/s of an m × n × k product in fp32 on `threads` threads: the best of `runs`. */
export declare function gemmGflops(m: number, n: number, k: number, threads: number, runs: number): number

/** Metadata of a GGUF file as a JSON text: keys as in the file, arrays included. */
export declare function ggufMetadata(path: string): string

export interface NativeBatch {
  tokens: Int32Array
  /** Length and parent (−1: none) of every segment, in pairs. */
  segments: Int32Array
  mask?: Uint8Array
  grad: boolean
  temperature: number
  values?: 'shared' | 'detached'
}

export interface NativeLora {
  r: number
  loraAlpha: number
  loraDropout: number
  targetModules: Array<string>
  seed: number
}

export interface NativeMemory {
  weights: number
  gradients: number
  optimizer: number
  activations: number
  kvCache: number
  total: number
}

export interface NativeMemoryPlan {
  tokens: number
  targets: number
  sequences: number
  length: number
  prefill: number
}

export interface NativeModelInfo {
  architecture: string
  parameters: number
  trainableParameters: number
  vocabSize: number
  hiddenSize: number
  layers: number
  contextLength: number
  weightBytes: number
  dtype: string
  tiedEmbeddings: boolean
  kvBytesPerToken: number
  trainable: 'full' | 'lora' | 'none'
  valueHead: boolean
  eosTokenIds: Array<number>
  optimizerSteps: number
  /** Bytes of engine buffers alive now, and the most since the model was opened. */
  memoryLive: number
  memoryPeak: number
}

export interface NativeOpenOptions {
  /** Every weight trainable, in fp32. */
  full: boolean
  threads: number
  /** Bytes that this model may take in all, weights and KV cache included. */
  memoryLimit: number
}

export interface NativeOptim {
  /** Absent: only the value head steps. */
  lr?: number
  /** The value head's; absent: it stays as it is. */
  valueLr?: number
  beta1: number
  beta2: number
  eps: number
  weightDecay: number
  maxGradNorm: number
  decayAll: boolean
}

export interface NativeOptimResult {
  gradNorm: number
  valueGradNorm?: number
  shareWeightsChanged: number
  nonFinite: number
}

export interface NativePlan {
  architecture: string
  parameters: number
  layers: number
  contextLength: number
  kvBytesPerToken: number
  memory: NativeMemory
}

export interface NativePlanOptions {
  /** Of the weights as stored. */
  weightBytes: number
  trainable: 'full' | 'lora' | 'none'
  loraR: number
  /** Layers are made again in backward. */
  recompute: boolean
  plan: NativeMemoryPlan
}

/** What happens while a call of `sample` runs: one of the two. */
export interface NativeSampleEvent {
  token?: NativeToken
  /** One sample that has ended. */
  sample?: NativeSamples
}

export interface NativeSampleRequest {
  prompt: Int32Array
  n?: number
  maxTokens: number
  temperature?: number
  topK?: number
  topP?: number
  minP?: number
  seed: number
  stopIds?: Array<number>
  stopSequences?: Array<Array<number>>
  allowed?: Array<Array<number>>
  topLogprobs?: number
}

/** Samples one after another in flat arrays. */
export interface NativeSamples {
  requests: Array<number>
  indices: Array<number>
  /** Tokens of each sample. */
  lengths: Array<number>
  stopReasons: Array<string>
  tokens: Int32Array
  logprobs: Float32Array
  /** Per token k ids and k log-probs, in the order of `tokens`; empty when not asked for. */
  topCounts: Array<number>
  topIds: Int32Array
  topLogprobs: Float32Array
}

export interface NativeScores {
  logprobs: Float32Array
  entropy: Float32Array
  correct: Uint8Array
  values?: Float32Array
  /** One per segment. */
  endValues?: Float32Array
}

export interface NativeToken {
  request: number
  index: number
  token: number
  logprob: number
}

/** Open a safetensors folder or a GGUF file. `onReady` gets an error text, or null and the model's description. */
export declare function openModel(path: string, options: NativeOpenOptions, onProgress: (done: number, total: number) => void, onReady: (error: string | null, info: NativeModelInfo | null) => void): NativeModel

/**
 * What a model of this `config.json` would need, without its weights. `origin` names it in messages. Refuses what the
 * engine would not open.
 */
export declare function planMemory(configJson: string, origin: string, options: NativePlanOptions): NativePlan
