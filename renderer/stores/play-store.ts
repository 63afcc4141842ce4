/** A game on the Play page, the model's choices at every checkpoint, and the position that is looked at. Knows nothing of React. */

import { createStore, type StoreApi } from "zustand/vanilla";
import type { Api } from "../../core/contract/api/api.ts";
import type {
  AnswerSoFar,
  MoveAnswer,
  MoveOdds,
  Player,
  PlaySide,
  Position,
  DrawnAnswers,
  TrainingLine,
} from "../../core/contract/api/play-calls.ts";
import { errorKind, HoneError } from "../../core/contract/errors.ts";

/** Who plays against the model. `base`: what its run began with. `self`: a checkpoint of the same run. */
export type Opponent =
  | { kind: "person" }
  | { kind: "random" }
  | { kind: "minimax" }
  | { kind: "base" }
  | { kind: "self"; step: number }
  | { kind: "model"; model: string };

export type OddsEntry = MoveOdds | "loading" | { error: unknown };

export interface PlayState {
  /** As it was asked for. */
  model: string;
  line: TrainingLine | undefined;
  /** Why there is none. */
  lineError: unknown;
  /** Of the line's checkpoints: the one that plays and is looked at. */
  index: number;
  opponent: Opponent;
  modelSide: PlaySide;
  temperature: number;
  /** Squares played so far. */
  moves: number[];
  position: Position | undefined;
  /** What models answered, by ply; the answer that ended the game too. */
  answers: Record<number, MoveAnswer>;
  /** The side that answered without a legal move, and so lost. */
  forfeit: PlaySide | undefined;
  /** A side is thinking. */
  busy: boolean;
  /** What a model has written so far. */
  writing: AnswerSoFar | undefined;
  error: unknown;
  /** Games without a person go on by themselves. */
  running: boolean;
  /** The ply that is looked at, before its move; undefined: the game as it stands. */
  look: number | undefined;
  /** What the squares show beside the marks. */
  shares: "all" | "exact" | "none";
  /** Whether what each move is worth is shown. */
  hints: boolean;
  /** By reference and squares. */
  odds: Record<string, OddsEntry>;
  sampled: Record<string, DrawnAnswers | "loading">;
  /** Positions by their squares, for looking back. */
  positions: Record<string, Position>;
}

export interface PlayStore extends StoreApi<PlayState> {
  /** Another checkpoint of the same run goes on with the game; another model begins a new one. */
  chooseModel(model: string): Promise<void>;
  chooseCheckpoint(index: number): void;
  chooseOpponent(opponent: Opponent): void;
  chooseSide(side: PlaySide): void;
  chooseTemperature(temperature: number): void;
  play(square: number): void;
  /** Takes back moves until the person is to move again; without a person, one. */
  undo(): void;
  newGame(): void;
  /** The present checkpoint makes the model's last move in place of what was made. */
  moveAgain(): void;
  lookAt(ply: number | undefined): void;
  setRunning(running: boolean): void;
  show(view: Partial<Pick<PlayState, "shares" | "hints">>): void;
  sample(): Promise<void>;
  /** Stops what is going on; the game stays. */
  leave(): void;
}

/** Milliseconds between the moves of a game that nobody plays. */
const pause = 700;

export const drawnCount = 128;

export function oddsKey(reference: string, moves: readonly number[]): string {
  return `${reference} ${moves.join("")}`;
}

export function referenceOf(state: PlayState): string {
  return state.line?.checkpoints[state.index]?.reference ?? state.model;
}

/**
 * The squares before the choice that is looked at: the one before `look`; else the model's present or last choice; at the
 * beginning the empty board.
 */
export function lensMoves(state: PlayState): number[] {
  const { look, moves, answers, modelSide } = state;
  if (look !== undefined) return moves.slice(0, look);
  for (let ply = moves.length; ply >= 0; ply--) {
    const isModels = sideAt(ply) === modelSide;
    if (isModels && (ply < moves.length || answers[ply] !== undefined || state.busy)) return moves.slice(0, ply);
  }
  return moves.length === 0 ? [] : moves.slice(0, -1);
}

export function sideAt(ply: number): PlaySide {
  return ply % 2 === 0 ? "x" : "o";
}

export function isOver({ position, forfeit }: PlayState): boolean {
  return forfeit !== undefined || (position !== undefined && position.result !== null);
}

export function opponentReference(state: PlayState): string | undefined {
  const { opponent, line } = state;
  if (opponent.kind === "model") return opponent.model;
  if (opponent.kind === "base") return line?.checkpoints[0]?.reference;
  if (opponent.kind === "self") return line?.checkpoints.find(({ step }) => step === opponent.step)?.reference;
  return undefined;
}

/** Who plays a side; undefined: the person. */
export function playerOf(state: PlayState, side: PlaySide): Player | undefined {
  if (side === state.modelSide) return { kind: "model", model: referenceOf(state) };
  const { kind } = state.opponent;
  if (kind === "person") return undefined;
  if (kind === "random" || kind === "minimax") return { kind };
  return { kind: "model", model: opponentReference(state) ?? referenceOf(state) };
}

const emptyGame = {
  moves: [],
  answers: {},
  forfeit: undefined,
  look: undefined,
  running: true,
} satisfies Partial<PlayState>;

export function createPlayStore(api: Api): PlayStore {
  const store = createStore<PlayState>(() => ({
    model: "starter",
    line: undefined,
    lineError: undefined,
    index: 0,
    opponent: { kind: "person" },
    modelSide: "x",
    temperature: 0,
    moves: [],
    position: undefined,
    answers: {},
    forfeit: undefined,
    busy: false,
    writing: undefined,
    error: undefined,
    running: true,
    look: undefined,
    shares: "all",
    hints: false,
    odds: {},
    sampled: {},
    positions: {},
  }));
  const { getState: get, setState: set } = store;
  let turn = new AbortController();
  let lookups = new AbortController();
  let seed = Math.floor(Math.random() * 2 ** 30);

  /** Ends what the present turn waits for. */
  function interrupt(): AbortSignal {
    turn.abort();
    turn = new AbortController();
    set({ busy: false, writing: undefined, error: undefined });
    return turn.signal;
  }

  async function positionOf(moves: readonly number[], signal: AbortSignal): Promise<Position> {
    const key = moves.join("");
    const known = get().positions[key];
    if (known !== undefined) return known;
    const position = await api.call("play.position", { moves: [...moves] }, { signal });
    set((state) => ({ positions: { ...state.positions, [key]: position } }));
    return position;
  }

  /** Brings the board up to date, and lets models move until it is the person's turn or the game is over. */
  async function advance(): Promise<void> {
    const signal = interrupt();
    try {
      for (let first = true; ; first = false) {
        const position = await positionOf(get().moves, signal);
        if (signal.aborted) return;
        set({ position });
        void followOdds();
        const player = playerOf(get(), position.to_move);
        if (isOver(get()) || player === undefined || get().line === undefined) return;
        const isWatched = get().opponent.kind !== "person";
        if (isWatched && !get().running) return;
        if (isWatched && !first) await new Promise((resolve) => setTimeout(resolve, pause));
        if (signal.aborted) return;
        if (!(await moveBy(player, signal))) return;
      }
    } catch (error) {
      if (signal.aborted || errorKind(error) === "cancelled") return;
      set({ error, busy: false, writing: undefined });
      if (isGone(error)) void reloadLine();
    }
  }

  /** One move of a model or a fixed opponent. Tells whether the game can go on. */
  async function moveBy(player: Player, signal: AbortSignal): Promise<boolean> {
    const { moves, temperature } = get();
    const stream = crypto.randomUUID();
    const stop = api.subscribe("stream", (news) => set({ writing: news as AnswerSoFar }), stream);
    set({ busy: true });
    void followOdds();
    try {
      const answer = await api.call("play.move", { player, moves, temperature, seed, stream }, { signal });
      if (signal.aborted) return false;
      set((state) => ({
        busy: false,
        writing: undefined,
        ...(answer.answer !== null && { answers: { ...state.answers, [moves.length]: answer } }),
        ...(answer.square === null ? { forfeit: sideAt(moves.length) } : { moves: [...moves, answer.square] }),
      }));
      void followOdds();
      return answer.square !== null;
    } finally {
      stop();
    }
  }

  /** The odds at the position that is looked at: at the present checkpoint first, then at its neighbours, outwards. */
  async function followOdds(): Promise<void> {
    lookups.abort();
    lookups = new AbortController();
    const { signal } = lookups;
    const { line, index } = get();
    if (line === undefined) return;
    const moves = lensMoves(get());
    const position = await positionOf(moves, signal).catch(() => undefined);
    if (signal.aborted || position === undefined || position.result !== null) return;
    const order = line.checkpoints
      .map((checkpoint, i) => ({ ...checkpoint, far: Math.abs(i - index) }))
      .sort((a, b) => a.far - b.far);
    for (const { reference, far } of order) {
      // A model that plays at this moment goes first.
      if (signal.aborted || (far > 1 && get().busy)) return;
      await lookUp(reference, moves, signal);
    }
  }

  async function lookUp(reference: string, moves: number[], signal: AbortSignal): Promise<void> {
    const key = oddsKey(reference, moves);
    const known = get().odds[key];
    // What failed stays so until the line is read anew: asking again and again would never end.
    if (known !== undefined && known !== "loading") return;
    const put = (entry: OddsEntry | undefined) => {
      set((state) => {
        const { [key]: _, ...others } = state.odds;
        return { odds: entry === undefined ? others : { ...others, [key]: entry } };
      });
    };
    put("loading");
    try {
      put(await api.call("play.odds", { model: reference, moves }, { signal }));
    } catch (error) {
      if (signal.aborted || errorKind(error) === "cancelled") return put(undefined);
      put({ error });
      if (isGone(error)) void reloadLine();
    }
  }

  async function readLine(model: string): Promise<void> {
    const before = get();
    try {
      const line = await api.call("play.line", { model });
      if (get().model === model) set({ line, index: line.index, lineError: undefined });
    } catch (lineError) {
      if (get().model === model && before.model === model) set({ line: undefined, lineError, index: 0 });
    }
  }

  /** A checkpoint was written or deleted meanwhile: the rest of the line stays, at the same step where it can. */
  async function reloadLine(): Promise<void> {
    const { model, line, index } = get();
    const wanted = line?.checkpoints[index];
    if (line === undefined || wanted === undefined) return;
    try {
      const again = await api.call("play.line", {
        model: line.run === null ? model : (line.checkpoints[0]?.reference ?? model),
      });
      if (get().line !== line) return;
      const step = wanted.step ?? 0;
      const same = again.checkpoints.findIndex(({ reference }) => reference === wanted.reference);
      const near = again.checkpoints.findLastIndex((one) => (one.step ?? 0) <= step);
      set({ line: again, index: same >= 0 ? same : Math.max(0, near) });
      void followOdds();
    } catch (lineError) {
      set({ line: undefined, lineError });
    }
  }

  api.subscribe("library", (part) => {
    if (part === "runs") void reloadLine();
  });

  return {
    ...store,
    async chooseModel(model) {
      interrupt();
      const { line } = get();
      const index = line?.checkpoints.findIndex(({ reference }) => reference === model) ?? -1;
      if (line !== undefined && index >= 0) set({ model, index });
      else {
        set({ ...emptyGame, model, line: undefined, lineError: undefined });
        await readLine(model);
      }
      if (get().model !== model) return;
      const { opponent } = get();
      const hasRun = get().line?.run != null;
      if (!hasRun && (opponent.kind === "base" || opponent.kind === "self")) set({ opponent: { kind: "person" } });
      await advance();
    },
    chooseCheckpoint(index) {
      const reference = get().line?.checkpoints[index]?.reference;
      if (reference === undefined || index === get().index) return;
      set({ index, model: reference });
      void followOdds();
    },
    chooseOpponent(opponent) {
      set({ ...emptyGame, opponent });
      void advance();
    },
    chooseSide(modelSide) {
      set({ ...emptyGame, modelSide });
      void advance();
    },
    chooseTemperature(temperature) {
      set({ temperature });
    },
    play(square) {
      const state = get();
      const { position, moves, busy, look } = state;
      if (look !== undefined || busy || position === undefined || isOver(state)) return;
      if (playerOf(state, position.to_move) !== undefined || position.board[square - 1] !== ".") return;
      set({ moves: [...moves, square] });
      void advance();
    },
    undo() {
      const { moves, opponent, modelSide, forfeit } = get();
      let kept = forfeit !== undefined ? moves.length : moves.length - 1;
      while (opponent.kind === "person" && kept > 0 && sideAt(kept) === modelSide) kept--;
      if (kept < 0) return;
      set({ moves: moves.slice(0, kept), answers: before(get().answers, kept), forfeit: undefined, look: undefined });
      if (opponent.kind !== "person") set({ running: false });
      void advance();
    },
    newGame() {
      seed = Math.floor(Math.random() * 2 ** 30);
      set(emptyGame);
      void advance();
    },
    moveAgain() {
      const ply = lastModelPly(get());
      if (ply === undefined) return;
      set({
        moves: get().moves.slice(0, ply),
        answers: before(get().answers, ply),
        forfeit: undefined,
        look: undefined,
        running: true,
      });
      void advance();
    },
    lookAt(look) {
      set({ look });
      void followOdds();
    },
    setRunning(running) {
      set({ running });
      if (running) void advance();
      else interrupt();
    },
    show(view) {
      set(view);
    },
    async sample() {
      const state = get();
      const [model, moves] = [referenceOf(state), lensMoves(state)];
      const key = oddsKey(model, moves);
      const put = (entry: DrawnAnswers | "loading" | undefined) => {
        set(({ sampled }) => {
          const { [key]: _, ...others } = sampled;
          return { sampled: entry === undefined ? others : { ...others, [key]: entry } };
        });
      };
      put("loading");
      try {
        put(await api.call("play.sample", { model, moves, count: drawnCount }));
      } catch (error) {
        put(undefined);
        set({ error });
      }
    },
    leave() {
      lookups.abort();
      interrupt();
      set({ running: false });
    },
  };
}

export function lastModelPly({ answers, modelSide }: PlayState): number | undefined {
  const plies = Object.keys(answers)
    .map(Number)
    .filter((ply) => sideAt(ply) === modelSide);
  return plies.length === 0 ? undefined : Math.max(...plies);
}

function before(answers: PlayState["answers"], ply: number): PlayState["answers"] {
  return Object.fromEntries(Object.entries(answers).filter(([key]) => Number(key) < ply));
}

/** The files of a model went away. */
function isGone(error: unknown): boolean {
  return error instanceof HoneError && ["no-such-model", "no-such-checkpoint", "no-such-run"].includes(error.code);
}
