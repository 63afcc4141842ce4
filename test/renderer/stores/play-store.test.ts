import { describe, expect, it } from "vitest";
import { positionAfter } from "../../../core/app/play/position.ts";
import type { Api, CallName } from "../../../core/contract/api/api.ts";
import type { MoveAnswer, TrainingLine } from "../../../core/contract/api/play-calls.ts";
import { HoneError } from "../../../core/contract/errors.ts";
import {
  createPlayStore,
  isOver,
  lensMoves,
  oddsKey,
  playerOf,
  type PlayStore,
} from "../../../renderer/stores/play-store.ts";

const steps = [0, 10, 20];
const line: TrainingLine = {
  run: "r",
  checkpoints: steps.map((step) => ({ reference: `r:${step}`, step, reward: null })),
  index: 2,
};

/** Answers as Hone would; a model takes the first free square unless `illegal`. */
function fakeApi({ illegal = false, gone = [] as string[] } = {}) {
  const asked: { name: CallName; input: Record<string, unknown> }[] = [];
  const answer = (name: CallName, input: Record<string, unknown>): unknown => {
    const moves = (input["moves"] ?? []) as number[];
    const model = (input["model"] ?? (input["player"] as { model?: string } | undefined)?.model) as string;
    if (gone.includes(model)) throw new HoneError("no-such-checkpoint", `${model} is gone`);
    switch (name) {
      case "play.line":
        return line;
      case "play.position":
        return positionAfter(moves);
      case "play.odds":
        return {
          model,
          squares: Array(9).fill(0.1),
          other: 0.1,
          drawn: null,
          greedy: { square: 1, failure: null, text: "" },
        };
      case "play.move": {
        const square = illegal ? null : positionAfter(moves).board.indexOf(".") + 1;
        const said = { model, prompt: [], prompt_tokens: 1, text: "", content: "", reasoning: "", tool_calls: [] };
        return {
          square,
          illegal: illegal ? { failure: "occupied", square: 1 } : null,
          answer: { ...said, tokens: [], stop_reason: "eos", seconds: 0 },
        } satisfies MoveAnswer;
      }
      default:
        throw new Error(name);
    }
  };
  const api = {
    host: "browser",
    call: async (name: CallName, input: Record<string, unknown>) => {
      asked.push({ name, input });
      await Promise.resolve();
      return answer(name, input);
    },
    subscribe: () => () => undefined,
    shell: {},
  } as unknown as Api;
  return { api, asked };
}

const settled = (store: PlayStore) => expect.poll(() => store.getState().busy).toBe(false);

describe("a game", () => {
  it("lets the model move first as X, then takes turns", async () => {
    const { api } = fakeApi();
    const store = createPlayStore(api);
    await store.chooseModel("r");
    expect(store.getState()).toMatchObject({ moves: [1], index: 2 });
    store.play(1);
    expect(store.getState().moves).toEqual([1]);
    store.play(5);
    await expect.poll(() => store.getState().moves).toEqual([1, 5, 2]);
    expect(playerOf(store.getState(), "o")).toBeUndefined();
    store.undo();
    await expect.poll(() => store.getState().moves).toEqual([1]);
  });

  it("ends by the task's rule when there is no legal move", async () => {
    const store = createPlayStore(fakeApi({ illegal: true }).api);
    await store.chooseModel("r");
    expect(store.getState()).toMatchObject({ forfeit: "x", moves: [] });
    expect(isOver(store.getState())).toBe(true);
    store.play(5);
    expect(store.getState().moves).toEqual([]);
  });

  it("goes on with another checkpoint of the run, and begins anew with another model", async () => {
    const { api, asked } = fakeApi();
    const store = createPlayStore(api);
    await store.chooseModel("r");
    store.play(5);
    await settled(store);
    await expect.poll(() => store.getState().moves.length).toBe(3);
    store.chooseCheckpoint(0);
    expect(store.getState().moves).toHaveLength(3);
    store.moveAgain();
    await expect.poll(() => store.getState().answers[2]?.answer?.model).toBe("r:0");
    await store.chooseModel("other");
    expect(store.getState().moves).toEqual([1]);
    expect(asked.filter(({ name }) => name === "play.line")).toHaveLength(2);
  });
});

describe("the position that is looked at", () => {
  it("is the one before the model's last move, and is asked of every checkpoint, the nearest first", async () => {
    const { api, asked } = fakeApi();
    const store = createPlayStore(api);
    await store.chooseModel("r");
    store.play(5);
    await expect.poll(() => store.getState().moves).toEqual([1, 5, 2]);
    expect(lensMoves(store.getState())).toEqual([1, 5]);
    await expect
      .poll(() => steps.map((step) => typeof store.getState().odds[oddsKey(`r:${step}`, [1, 5])]))
      .toEqual(Array(3).fill("object"));
    const order = asked
      .filter(({ name, input }) => name === "play.odds" && String(input["moves"]) === "1,5")
      .map(({ input }) => input["model"]);
    expect(order.slice(-3)).toEqual(["r:20", "r:10", "r:0"]);
    store.lookAt(0);
    expect(lensMoves(store.getState())).toEqual([]);
  });

  it("keeps what is there when one checkpoint is gone", async () => {
    const store = createPlayStore(fakeApi({ gone: ["r:10"] }).api);
    await store.chooseModel("r");
    await expect.poll(() => store.getState().odds[oddsKey("r:10", [])]).toHaveProperty("error");
    expect(store.getState().odds[oddsKey("r:20", [])]).toHaveProperty("squares");
  });
});
