/** The engine behind the interface of `types.ts`: a thin layer over the native addon. */

import { availableParallelism, cpus, totalmem } from "node:os";
import { HoneError } from "../contract/errors.ts";
import { loadNative, toHoneError } from "./native.ts";
import type { NativeModel, NativeModelInfo, NativeSampleEvent, NativeSamples } from "./native.ts";
import type * as T from "./types.ts";

/** What is left to the rest of the machine when no memory limit is given. */
const SHARE_OF_FREE_MEMORY = 0.8;

async function settled<R>(promise: Promise<R>): Promise<R> {
  try {
    return await promise;
  } catch (error) {
    throw toHoneError(error);
  }
}

export function createEngine(): Promise<T.Engine> {
  const native = loadNative();
  const { version, simd } = native.engineInfo();
  return Promise.resolve({
    version,
    devices: () => [
      {
        name: cpus()[0]?.model.trim() ?? "CPU",
        kind: "cpu" as const,
        memoryTotal: totalmem(),
        memoryFree: process.availableMemory(),
        threads: availableParallelism(),
        simd,
        note: "always there; trains small models and adapters, samples quantised models",
      },
    ],
    open: async (path: string, options: T.OpenOptions = {}, onProgress?: (progress: T.OpenProgress) => void) => {
      const model = await new Promise<{ handle: NativeModel; info: NativeModelInfo }>((resolve, reject) => {
        const handle = native.openModel(
          path,
          {
            full: options.trainable === "full",
            threads: options.threads ?? availableParallelism(),
            memoryLimit: options.memoryLimit ?? Math.floor(process.availableMemory() * SHARE_OF_FREE_MEMORY),
          },
          (done, total) => onProgress?.({ stage: "loading weights", done, total }),
          (error, info) => {
            // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- openError returns an Error
            if (error !== null || info === null) reject(openError(error ?? "internal\nthe engine said nothing"));
            else resolve({ handle, info });
          },
        );
      });
      return new EngineModel(path, model.handle, model.info);
    },
  });
}

/** A model's own configuration is at fault, not the user's options, which have that code too. */
function openError(error: unknown): unknown {
  const known = toHoneError(error);
  return known instanceof HoneError && known.code === "bad-config" ? new HoneError("bad-model", known.message) : known;
}

/** Key-values of a GGUF file, arrays included. @throws HoneError as the native reader names it. */
export function readGgufMetadata(path: string): Promise<Record<string, unknown>> {
  try {
    return Promise.resolve(JSON.parse(loadNative().ggufMetadata(path)) as Record<string, unknown>);
  } catch (error) {
    throw toHoneError(error);
  }
}

/** A new model with random weights from a Hugging Face configuration. @throws HoneError `bad-config`, `write-failed`. */
export function createModel(folder: string, config: Record<string, unknown>, seed: number): void {
  try {
    loadNative().createModel(folder, JSON.stringify(config), seed);
  } catch (error) {
    throw toHoneError(error);
  }
}

/** GFLOP/s of an fp32 matrix product: the best of `runs`. */
export function measureGemm(shape: { m: number; n: number; k: number }, threads: number, runs: number): number {
  return loadNative().gemmGflops(shape.m, shape.n, shape.k, threads, runs);
}

class EngineModel implements T.Model {
  readonly path: string;
  #native: NativeModel;
  #info: NativeModelInfo;

  constructor(path: string, native: NativeModel, info: NativeModelInfo) {
    this.path = path;
    this.#native = native;
    this.#info = info;
  }

  /** A call that changes what `info` says. */
  async #change(promise: Promise<void>): Promise<void> {
    await settled(promise);
    this.#info = await settled(this.#native.info());
  }

  info(): T.ModelInfo {
    const { optimizerSteps, memoryLive, memoryPeak, ...info } = this.#info;
    void [optimizerSteps, memoryLive, memoryPeak];
    return info;
  }

  async memory(): Promise<{ live: number; peak: number }> {
    const { memoryLive, memoryPeak } = await settled(this.#native.info());
    return { live: memoryLive, peak: memoryPeak };
  }

  async sample(requests: T.SampleRequest[], { onToken, onSample, signal }: T.SampleOptions = {}): Promise<T.Sample[]> {
    const cancel = new (loadNative().NativeCancel)();
    const abort = () => cancel.cancel();
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) abort();
    const listening = onToken !== undefined || onSample !== undefined;
    const ended: T.Sample[] = [];
    let tokens = 0;
    let failure: { error: unknown } | undefined;
    let wake: (() => void) | undefined;
    const listener = ({ token, sample }: NativeSampleEvent) => {
      if (token !== undefined) tokens++;
      const samples = sample === undefined ? [] : unpack(sample);
      ended.push(...samples);
      try {
        if (failure === undefined && token !== undefined) onToken?.(token);
        if (failure === undefined) samples.forEach((one) => onSample?.(one));
      } catch (error) {
        failure = { error };
        abort();
      }
      wake?.();
    };
    const [wantTokens, wantSamples] = [onToken !== undefined, onSample !== undefined];
    try {
      const flat = await settled(
        this.#native.sample(requests, cancel, wantTokens, wantSamples, listening ? listener : undefined),
      );
      // Events and the result take different ways to this thread: the last events may still be under way.
      const due = () =>
        (wantTokens && tokens < flat.tokens.length) || (wantSamples && ended.length < flat.lengths.length);
      while (due()) await new Promise<void>((resolve) => (wake = resolve));
      if (failure !== undefined) throw failure.error;
      if (!wantSamples) return unpack(flat);
      return ended.sort((a, b) => a.request - b.request || a.index - b.index);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  forward(batch: T.Batch, options: T.ForwardOptions = {}): Promise<T.ForwardResult> {
    const segments = new Int32Array(batch.segments.length * 2);
    batch.segments.forEach((segment, i) => {
      segments[2 * i] = segment.length;
      segments[2 * i + 1] = segment.parent ?? -1;
    });
    const { grad = false, temperature = 1, values } = options;
    return settled(
      this.#native.forward({ tokens: batch.tokens, segments, mask: batch.mask, grad, temperature, values }),
    );
  }

  backward(dLogprobs: Float32Array | null, dEntropy?: Float32Array, dValues?: Float32Array): Promise<void> {
    return settled(this.#native.backward(dLogprobs, dEntropy, dValues));
  }

  attachValueHead(): Promise<void> {
    return this.#change(this.#native.attachValueHead());
  }

  optimStep(options: T.OptimStepOptions): Promise<T.OptimStepResult> {
    const { lr, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0, maxGradNorm = 0, decayAll = false } = options;
    const { valueLr = this.#info.valueHead ? lr : null } = options;
    const [beta1, beta2] = betas;
    const rates = { lr: lr ?? undefined, valueLr: valueLr ?? undefined };
    return settled(this.#native.optimStep({ ...rates, beta1, beta2, eps, weightDecay, maxGradNorm, decayAll }));
  }

  zeroGrad(): Promise<void> {
    return settled(this.#native.zeroGrad());
  }

  attachLora(options: T.LoraOptions): Promise<void> {
    return this.#change(
      this.#native.attachLora({
        r: options.r,
        loraAlpha: options.lora_alpha,
        loraDropout: options.lora_dropout ?? 0,
        targetModules: options.target_modules ?? [...ALL_LINEAR],
        seed: options.seed,
      }),
    );
  }

  mergeLora(): Promise<void> {
    return this.#change(this.#native.mergeLora());
  }

  async withoutLora<R>(fn: () => Promise<R>): Promise<R> {
    await settled(this.#native.setLora(false));
    try {
      return await fn();
    } finally {
      await settled(this.#native.setLora(true));
    }
  }

  saveWeights(folder: string, dtype: T.SaveDtype = "F32"): Promise<void> {
    return settled(this.#native.saveWeights(folder, dtype));
  }

  saveAdapter(folder: string): Promise<void> {
    return settled(this.#native.saveAdapter(folder));
  }

  loadAdapter(folder: string): Promise<void> {
    return this.#change(this.#native.loadAdapter(folder));
  }

  saveState(file: string): Promise<void> {
    return settled(this.#native.saveState(file));
  }

  loadState(file: string): Promise<void> {
    return this.#change(this.#native.loadState(file));
  }

  estimateMemory(plan: T.MemoryPlan): Promise<T.MemoryEstimate> {
    return settled(this.#native.estimateMemory(wholePlan(plan)));
  }

  close(): Promise<void> {
    return settled(this.#native.close());
  }
}

/** What is not asked for counts nothing. */
export function wholePlan(plan: T.MemoryPlan): Required<T.MemoryPlan> {
  return { tokens: 0, targets: 0, sequences: 0, length: 0, prefill: 0, ...plan };
}

/** The linear layers of every block, as PEFT's `all-linear` means them. */
const ALL_LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"] as const;

function unpack(flat: NativeSamples): T.Sample[] {
  let at = 0;
  let topAt = 0;
  return flat.lengths.map((length, i) => {
    const tokens = flat.tokens.slice(at, at + length);
    const logprobs = flat.logprobs.slice(at, at + length);
    const sample: T.Sample = {
      request: flat.requests[i] ?? 0,
      index: flat.indices[i] ?? 0,
      tokens,
      logprobs,
      stopReason: flat.stopReasons[i] as T.EngineStopReason,
    };
    if (flat.topCounts.length > 0) {
      sample.topLogprobs = Array.from(tokens, (_, t) => {
        const k = flat.topCounts[at + t] ?? 0;
        const pairs = Array.from({ length: k }, (_, j): [number, number] => [
          flat.topIds[topAt + j] ?? 0,
          flat.topLogprobs[topAt + j] ?? 0,
        ]);
        topAt += k;
        return pairs;
      });
    }
    at += length;
    return sample;
  });
}
