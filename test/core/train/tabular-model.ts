/**
 * A model small enough to be looked through: one row of logits (and, with a value head, one value) for every context (the
 * last `memory` tokens), with real probabilities, gradients and AdamW. It stands in for the native engine where a test is about the training loop.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HoneError } from "../../../core/contract/errors.ts";
import { Random } from "../../../core/contract/random.ts";
import type {
  Batch,
  Device,
  Engine,
  ForwardOptions,
  ForwardResult,
  LoraOptions,
  MemoryEstimate,
  MemoryPlan,
  Model,
  ModelInfo,
  OptimStepOptions,
  OptimStepResult,
  Sample,
  SampleOptions,
  SampleRequest,
} from "../../../core/engine/types.ts";
import { adamw, gradientNorm } from "./learned-table.ts";
import type { Learned, Moments, Table } from "./learned-table.ts";

export interface TabularOptions {
  vocabSize: number;
  /** Tokens of context that the next one depends on. Default: all. */
  memory?: number;
  contextLength?: number;
  trainable?: "full" | "lora" | "none";
}

interface Kept {
  context: string;
  withValues: boolean;
  token: number;
  probabilities: number[];
  logprobs: number[];
  entropy: number;
  temperature: number;
}

export class TabularModel implements Model {
  readonly path: string;
  options: TabularOptions;
  base: Table = new Map();
  adapter: Table = new Map();
  gradients: Table = new Map();
  moments: Moments = new Map();
  steps = 0;
  valueHead: Learned | undefined;
  adapterOn = true;
  closed = false;
  kept: (Kept | undefined)[] = [];
  /** Set by tests: called before the calls of these names. */
  before: Partial<Record<"sample" | "forward" | "backward" | "optimStep" | "saveWeights", () => void | Promise<void>>> =
    {};
  /** What `sample` adds to the log-probs it reports: a sampler that disagrees with the trainer. */
  samplerError = 0;
  /** What all optimizer steps were asked for. */
  optimSteps: OptimStepOptions[] = [];
  /** The batches of all forward calls. */
  forwards: { batch: Batch; options: ForwardOptions }[] = [];

  constructor(path: string, options: TabularOptions) {
    this.path = path;
    this.options = options;
  }

  info(): ModelInfo {
    return {
      architecture: "tabular",
      parameters: 1000,
      trainableParameters: 1000,
      vocabSize: this.options.vocabSize,
      hiddenSize: 1,
      layers: 1,
      contextLength: this.options.contextLength ?? 256,
      weightBytes: 4000,
      dtype: "F64",
      tiedEmbeddings: true,
      kvBytesPerToken: 0,
      trainable: this.options.trainable ?? "full",
      valueHead: this.valueHead !== undefined,
    };
  }

  logits(context: string): number[] {
    const base = this.base.get(context) ?? new Array<number>(this.options.vocabSize).fill(0);
    const adapter = this.adapterOn ? this.adapter.get(context) : undefined;
    return adapter === undefined ? base : base.map((value, i) => value + adapter[i]);
  }

  /** Natural log-probs of the next token. */
  distribution(context: readonly number[], temperature = 1): number[] {
    const logits = this.logits(this.key(context)).map((logit) => logit / temperature);
    const top = Math.max(...logits);
    const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0)) + top;
    return logits.map((logit) => logit - total);
  }

  key(context: readonly number[]): string {
    return context.slice(-(this.options.memory ?? Infinity)).join(" ");
  }

  async sample(requests: SampleRequest[], { onToken, onSample, signal }: SampleOptions = {}): Promise<Sample[]> {
    await this.before.sample?.();
    const samples: Sample[] = [];
    for (const [request, asked] of requests.entries()) {
      for (let index = 0; index < (asked.n ?? 1); index++) {
        const random = new Random(`${asked.seed}/${index}`);
        const tokens: number[] = [];
        const logprobs: number[] = [];
        let stopReason: Sample["stopReason"] = "length";
        while (tokens.length < asked.maxTokens) {
          if (signal?.aborted === true) {
            stopReason = "cancelled";
            break;
          }
          const context = [...asked.prompt, ...tokens];
          if (context.length >= this.info().contextLength) {
            stopReason = "context_full";
            break;
          }
          const temperature = asked.temperature ?? 1;
          const raw = this.distribution(context);
          let token = raw.indexOf(Math.max(...raw));
          if (temperature > 0) {
            let rest = random.next();
            const drawn = this.distribution(context, temperature);
            token = drawn.findIndex((logprob) => (rest -= Math.exp(logprob)) < 0);
            if (token < 0) token = drawn.length - 1;
          }
          tokens.push(token);
          logprobs.push(raw[token] + this.samplerError);
          onToken?.({ request, index, token, logprob: raw[token] });
          if (asked.stopIds?.includes(token) === true) {
            stopReason = "eos";
            break;
          }
        }
        const sample: Sample = {
          request,
          index,
          tokens: Int32Array.from(tokens),
          logprobs: Float32Array.from(logprobs),
          stopReason,
        };
        samples.push(sample);
        onSample?.(sample);
      }
      // Lets an abort arrive between requests, as it can while the engine works on its own threads.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return samples;
  }

  async forward(batch: Batch, options: ForwardOptions = {}): Promise<ForwardResult> {
    await this.before.forward?.();
    this.forwards.push({ batch, options });
    const temperature = options.temperature ?? 1;
    const starts: number[] = [];
    const logprobs = new Float32Array(batch.tokens.length).fill(NaN);
    const entropy = new Float32Array(batch.tokens.length).fill(NaN);
    const correct = new Uint8Array(batch.tokens.length);
    const head = options.values === undefined ? undefined : this.head();
    const values = new Float32Array(batch.tokens.length).fill(NaN);
    const endValues = new Float32Array(batch.segments.length);
    const value = (context: readonly number[]) => head?.table.get(this.key(context))?.[0] ?? 0;
    const kept: (Kept | undefined)[] = [];
    let offset = 0;
    for (const [segment, { length, parent }] of batch.segments.entries()) {
      starts.push(offset);
      const before =
        parent === undefined
          ? []
          : [...batch.tokens.subarray(starts[parent], starts[parent] + batch.segments[parent].length)];
      for (let i = 0; i < length; i++) {
        const at = offset + i;
        const context = [...before, ...batch.tokens.subarray(offset, at)];
        if (context.length === 0 || (batch.mask !== undefined && batch.mask[at] === 0)) continue;
        const all = this.distribution(context, temperature);
        const probabilities = all.map(Math.exp);
        const h = -all.reduce((sum, logprob, j) => sum + logprob * probabilities[j], 0);
        logprobs[at] = all[batch.tokens[at]];
        entropy[at] = h;
        correct[at] = Number(all[batch.tokens[at]] === Math.max(...all));
        values[at] = value(context);
        kept[at] = {
          context: this.key(context),
          withValues: head !== undefined,
          token: batch.tokens[at],
          probabilities,
          logprobs: all,
          entropy: h,
          temperature,
        };
      }
      offset += length;
      endValues[segment] = value([...before, ...batch.tokens.subarray(offset - length, offset)]);
    }
    if (offset !== batch.tokens.length) throw new Error("segments and tokens differ in length");
    if (options.grad === true) this.kept = kept;
    return head === undefined ? { logprobs, entropy, correct } : { logprobs, entropy, correct, values, endValues };
  }

  /** No logit depends on what a value does, so "shared" and "detached" come to the same here. */
  async backward(dLogprobs: Float32Array | null, dEntropy?: Float32Array, dValues?: Float32Array): Promise<void> {
    await this.before.backward?.();
    this.kept.forEach((kept, at) => {
      if (kept === undefined) return;
      if (dValues !== undefined) {
        if (!kept.withValues) throw new HoneError("no-values", "the forward was not asked for values");
        const { gradients } = this.head();
        gradients.set(kept.context, [(gradients.get(kept.context)?.[0] ?? 0) + dValues[at]]);
      }
      if (dLogprobs === null) return;
      const { probabilities, logprobs, entropy, temperature } = kept;
      const gradient = this.gradients.get(kept.context) ?? probabilities.map(() => 0);
      for (let j = 0; j < gradient.length; j++) {
        const onehot = j === kept.token ? 1 : 0;
        gradient[j] += (dLogprobs[at] * (onehot - probabilities[j])) / temperature;
        if (dEntropy !== undefined) {
          gradient[j] -= (dEntropy[at] * probabilities[j] * (logprobs[j] + entropy)) / temperature;
        }
      }
      this.gradients.set(kept.context, gradient);
    });
    this.kept = [];
  }

  head(): Learned {
    if (this.valueHead === undefined) throw new HoneError("no-value-head", "this model has no value head");
    return this.valueHead;
  }

  async attachValueHead(): Promise<void> {
    if (this.valueHead !== undefined) throw new HoneError("value-head-exists", "this model has a value head");
    this.valueHead = { table: new Map(), gradients: new Map(), moments: new Map(), steps: 0 };
  }

  async optimStep(options: OptimStepOptions): Promise<OptimStepResult> {
    await this.before.optimStep?.();
    this.optimSteps.push(options);
    const { lr, valueLr = this.valueHead === undefined ? null : lr } = options;
    const head = lr === null || valueLr !== null ? this.head() : this.valueHead;
    if (lr === null && valueLr === null) throw new HoneError("bad-config", "a step needs a learning rate");
    const [own, ofValues] = [gradientNorm(this.gradients), gradientNorm(head?.gradients ?? new Map())];
    const nonFinite = own.nonFinite + ofValues.nonFinite;
    let shareWeightsChanged = 0;
    if (nonFinite === 0 && lr !== null) {
      this.steps += 1;
      const table = this.options.trainable === "lora" ? this.adapter : this.base;
      const { gradients, moments, steps } = this;
      shareWeightsChanged = adamw({ table, gradients, moments, steps }, own.norm, lr, options);
    }
    if (nonFinite === 0 && head !== undefined && valueLr !== null) {
      head.steps += 1;
      adamw(head, ofValues.norm, valueLr, options);
    }
    await this.zeroGrad();
    const norms = head === undefined ? {} : { valueGradNorm: ofValues.norm };
    return { gradNorm: own.norm, ...norms, shareWeightsChanged, nonFinite };
  }

  async zeroGrad(): Promise<void> {
    this.gradients.clear();
    this.valueHead?.gradients.clear();
  }

  async attachLora(options: LoraOptions): Promise<void> {
    if (options.r < 1) throw new Error("rank");
    this.options = { ...this.options, trainable: "lora" };
    this.adapter = new Map();
  }

  async mergeLora(): Promise<void> {
    for (const [context, row] of this.adapter) {
      const base = this.base.get(context);
      this.base.set(
        context,
        row.map((value, i) => value + (base?.[i] ?? 0)),
      );
    }
    this.adapter = new Map();
  }

  async withoutLora<T>(fn: () => Promise<T>): Promise<T> {
    this.adapterOn = false;
    try {
      return await fn();
    } finally {
      this.adapterOn = true;
    }
  }

  async saveWeights(folder: string): Promise<void> {
    await this.before.saveWeights?.();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "model.safetensors"), JSON.stringify([...this.base]));
    writeFileSync(join(folder, "config.json"), JSON.stringify({ model_type: "tabular", ...this.options }));
  }

  async saveAdapter(folder: string): Promise<void> {
    await this.before.saveWeights?.();
    writeFileSync(join(folder, "adapter_model.safetensors"), JSON.stringify([...this.adapter]));
    writeFileSync(join(folder, "adapter_config.json"), JSON.stringify({ r: 1, lora_alpha: 1 }));
  }

  async loadAdapter(folder: string): Promise<void> {
    this.options = { ...this.options, trainable: "lora" };
    this.adapter = new Map(
      JSON.parse(readFileSync(join(folder, "adapter_model.safetensors"), "utf8")) as [string, number[]][],
    );
  }

  async saveState(file: string): Promise<void> {
    const { valueHead: head } = this;
    const value = head && { steps: head.steps, table: [...head.table], moments: [...head.moments] };
    writeFileSync(file, JSON.stringify({ steps: this.steps, moments: [...this.moments], value }));
  }

  async loadState(file: string): Promise<void> {
    interface State {
      steps: number;
      moments: [string, { m: number[]; v: number[] }][];
    }
    const { steps, moments, value } = JSON.parse(readFileSync(file, "utf8")) as State & {
      value?: State & { table: [string, number[]][] };
    };
    this.steps = steps;
    this.moments = new Map(moments);
    if (value !== undefined) {
      const [table, ofValue] = [new Map(value.table), new Map(value.moments)];
      this.valueHead = { table, gradients: new Map(), moments: ofValue, steps: value.steps };
    }
  }

  async estimateMemory(plan: MemoryPlan): Promise<MemoryEstimate> {
    const activations = 100 * (plan.tokens ?? 0);
    const kvCache = 10 * (plan.sequences ?? 0) * (plan.length ?? 0);
    return {
      weights: 8000,
      gradients: 8000,
      optimizer: 16000,
      activations,
      kvCache,
      total: 32000 + activations + kvCache,
    };
  }

  async memory(): Promise<{ live: number; peak: number }> {
    return { live: 0, peak: 0 };
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

/** An engine whose models are tabular. A folder that `saveWeights` wrote is read back. */
export class TabularEngine implements Engine {
  version = "tabular 1";
  options: TabularOptions;
  opened: TabularModel[] = [];
  /** Set by tests. */
  onOpen: ((model: TabularModel) => void) | undefined;

  constructor(options: TabularOptions) {
    this.options = options;
  }

  devices(): Device[] {
    return [
      { name: "table", kind: "cpu", memoryTotal: 1e9, memoryFree: 1e9, threads: 1, simd: "scalar", note: "for tests" },
    ];
  }

  async open(path: string, options: { trainable?: "full" | "none" } = {}): Promise<TabularModel> {
    const model = new TabularModel(path, { ...this.options, trainable: options.trainable ?? "none" });
    const weights = join(path, "model.safetensors");
    if (existsSync(weights)) {
      model.base = new Map(JSON.parse(readFileSync(weights, "utf8")) as [string, number[]][]);
    }
    this.opened.push(model);
    this.onOpen?.(model);
    return model;
  }
}
