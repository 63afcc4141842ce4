/**
 * Makes the starter model from nothing with this project's own engine: vocabulary, random weights, supervised training on
 * the exchanges of `corpus.ts`. The same seed gives the same model on the same machine.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Random } from "../contract/random.ts";
import { createModel } from "../engine/engine.ts";
import type { Batch, Engine } from "../engine/types.ts";
import type { Board } from "../tasks/tic-tac-toe/board.ts";
import { chooseSquareTool, promptMessages } from "../tasks/tic-tac-toe/prompt.ts";
import { openChat } from "../text/chat.ts";
import { openTokenizer } from "../text/open-tokenizer.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { buildTokenizer, endOfTurn, textFiles } from "./chat-format.ts";
import { boardSource, call, facts, moveAnswer } from "./corpus.ts";

/** The recipe. The numbers were found by trial; what mattered stands beside them. */
const RECIPE = {
  vocabSize: 1024,
  contextLength: 1024,
  width: 128,
  layers: 4,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  ffn: 352,
  /** Larger than usual: the model is small, and tied embeddings of this size let it tell rows of a board apart from the start. */
  initializerRange: 0.05,
  steps: 2400,
  boardsPerStep: 48,
  /** Answers per board to each request to point, of those that fit. Dense requests teach a board in minutes; single questions did not. */
  pointings: 2,
  movesPerBoard: 2,
  learningRate: 2e-3,
  warmup: 50,
  betas: [0.9, 0.99] as [number, number],
  /** What a token of a move answer, and the fixed text of a call, weigh beside a square that was pointed at. */
  moveWeight: 0.3,
  formWeight: 0.05,
};

export interface StarterProgress {
  step: number;
  steps: number;
  /** Mean weighted loss of the last steps, nats. */
  loss: number;
  seconds: number;
}

export interface StarterOptions {
  /** Folder to write; made if missing. */
  out: string;
  seed?: number;
  steps?: number;
  onProgress?: (progress: StarterProgress) => void;
}

/** Writes a Hugging Face folder. @throws HoneError as the engine and the files raise them. */
export async function makeStarter(engine: Engine, options: StarterOptions): Promise<void> {
  const { out, seed = 1, steps = RECIPE.steps } = options;
  mkdirSync(out, { recursive: true });
  const random = new Random(seed);
  const tokenizer = await writeTextFiles(out, random.split("vocabulary"));
  const scratch = mkdtempSync(join(tmpdir(), "hone-starter-"));
  try {
    createModel(scratch, modelConfig(tokenizer.vocabSize), seed);
    const model = await engine.open(scratch, { trainable: "full" });
    try {
      const lessons = new Lessons(tokenizer);
      const drawBoard = boardSource();
      const draws = random.split("exchanges");
      const start = performance.now();
      let recent = Number.NaN;
      for (let step = 0; step < steps; step++) {
        const boards = Array.from({ length: RECIPE.boardsPerStep }, () => drawBoard(draws));
        const { batch, weights } = lessons.batch(boards, draws);
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const { logprobs } = await model.forward(batch, { grad: true });
        let loss = 0;
        const gradient = Float32Array.from(weights, (weight, i) => {
          if (weight > 0) loss -= (weight / total) * logprobs[i];
          return -weight / total;
        });
        await model.backward(gradient);
        await model.optimStep({ lr: learningRate(step, steps), betas: RECIPE.betas, maxGradNorm: 1 });
        recent = Number.isNaN(recent) ? loss : 0.95 * recent + 0.05 * loss;
        options.onProgress?.({ step: step + 1, steps, loss: recent, seconds: (performance.now() - start) / 1000 });
      }
      await model.saveWeights(out, "BF16");
    } finally {
      await model.close();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Warm-up, then a cosine to a twentieth. */
function learningRate(step: number, steps: number): number {
  const warm = Math.min(1, (step + 1) / RECIPE.warmup);
  return RECIPE.learningRate * warm * (0.05 + 0.95 * 0.5 * (1 + Math.cos((Math.PI * step) / steps)));
}

function modelConfig(vocabSize: number): Record<string, unknown> {
  return {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    vocab_size: vocabSize,
    hidden_size: RECIPE.width,
    intermediate_size: RECIPE.ffn,
    num_hidden_layers: RECIPE.layers,
    num_attention_heads: RECIPE.heads,
    num_key_value_heads: RECIPE.kvHeads,
    head_dim: RECIPE.headDim,
    hidden_act: "silu",
    attention_bias: false,
    mlp_bias: false,
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    initializer_range: RECIPE.initializerRange,
    tie_word_embeddings: true,
    max_position_embeddings: RECIPE.contextLength,
    bos_token_id: null,
    eos_token_id: 2,
    pad_token_id: 0,
    torch_dtype: "float32",
  };
}

/** Learns the vocabulary from a sample of the exchanges and writes every file but weights and configuration. */
async function writeTextFiles(out: string, random: Random): Promise<Tokenizer> {
  for (const [name, text] of Object.entries(textFiles(RECIPE.contextLength))) writeFileSync(join(out, name), text);
  const save = (texts: string[]) =>
    writeFileSync(join(out, "tokenizer.json"), JSON.stringify(buildTokenizer(texts, RECIPE.vocabSize)) + "\n");
  // Rendering a template needs a tokenizer: one of single bytes serves until the real one is learnt.
  save([]);
  const chat = openChat(await openTokenizer(out));
  const drawBoard = boardSource();
  const texts = Array.from({ length: 2000 }, () => {
    const board = drawBoard(random);
    const { text } = chat.render({
      messages: promptMessages(board),
      tools: [chooseSquareTool],
      addGenerationPrompt: true,
      loss: "none",
    });
    return [text, ...facts.map((fact) => fact.request), moveAnswer(board, random)].join("\n");
  });
  save(texts);
  return openTokenizer(out);
}

const MOVE_REQUEST = "Your move:";

/** Exchanges as packed batches: a board's prompt up to its last line once, then every request and answer behind it. */
class Lessons {
  readonly #tokenizer: Tokenizer;
  readonly #chat: ReturnType<typeof openChat>;
  readonly #boards = new Map<Board, number[]>();
  readonly #texts = new Map<string, number[]>();
  readonly #answerCue: string;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    this.#chat = openChat(tokenizer);
    const { text } = this.#prompt(".........");
    this.#answerCue = text.slice(text.lastIndexOf(MOVE_REQUEST) + MOVE_REQUEST.length);
    const whole = [...this.#board("........."), ...this.#text(MOVE_REQUEST + this.#answerCue)];
    if (whole.join() !== this.#prompt(".........").ids.join())
      throw new Error("a prompt in two parts is not the prompt as the game renders it");
  }

  batch(boards: readonly Board[], random: Random): { batch: Batch; weights: number[] } {
    const tokens: number[] = [];
    const segments: Batch["segments"] = [];
    const weights: number[] = [];
    const add = (ids: readonly number[], weight: (i: number) => number, parent?: number) => {
      segments.push(parent === undefined ? { length: ids.length } : { length: ids.length, parent });
      ids.forEach((id, i) => {
        tokens.push(id);
        weights.push(weight(i));
      });
    };
    for (const board of boards) {
      const parent = segments.length;
      add(this.#board(board), () => 0);
      for (const { request, squaresOf } of facts) {
        const cue = this.#text(request + this.#answerCue);
        const all = squaresOf(board);
        const chosen = random.shuffle([...all]).slice(0, RECIPE.pointings);
        const answers = all.length === 0 ? ["None."] : chosen.map(call);
        for (const answer of answers) {
          const ids = this.#text(answer + endOfTurn);
          const square = all.length === 0 ? 0 : ids.findIndex((id) => /^ ?[1-9]$/.test(this.#tokenizer.decode([id])));
          const weight = (i: number) => (i < cue.length ? 0 : i === cue.length + square ? 1 : RECIPE.formWeight);
          add([...cue, ...ids], (i) => weight(i) / answers.length, parent);
        }
      }
      const cue = this.#text(MOVE_REQUEST + this.#answerCue);
      for (let i = 0; i < RECIPE.movesPerBoard; i++) {
        const answer = this.#encode(moveAnswer(board, random) + endOfTurn);
        add([...cue, ...answer], (t) => (t < cue.length ? 0 : RECIPE.moveWeight), parent);
      }
    }
    const mask = Uint8Array.from(weights, (weight) => Number(weight > 0));
    return { batch: { tokens: Int32Array.from(tokens), segments, mask }, weights };
  }

  #prompt(board: Board) {
    const messages = promptMessages(board);
    return this.#chat.render({ messages, tools: [chooseSquareTool], addGenerationPrompt: true, loss: "none" });
  }

  /** The prompt up to its last line. */
  #board(board: Board): number[] {
    let ids = this.#boards.get(board);
    if (ids === undefined) {
      const { text } = this.#prompt(board);
      ids = this.#encode(text.slice(0, text.lastIndexOf(MOVE_REQUEST)));
      this.#boards.set(board, ids);
    }
    return ids;
  }

  /** Ids of a text that comes again and again. */
  #text(text: string): number[] {
    let ids = this.#texts.get(text);
    if (ids === undefined) {
      ids = this.#encode(text);
      this.#texts.set(text, ids);
    }
    return ids;
  }

  #encode(text: string): number[] {
    return this.#tokenizer.encode(text, { allowSpecial: true });
  }
}
