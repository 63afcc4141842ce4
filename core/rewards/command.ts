/** A reward that is a program of the user's: one request line on its stdin, one reply line on its stdout. */

import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { HoneError } from "../contract/errors.ts";
import type { RewardAnswer, RewardSample } from "../contract/reward.ts";
import { badSample } from "./expected.ts";
import { Limiter } from "./limiter.ts";
import type { OpenPart, PartContext, PartOptions } from "./part.ts";
import { readReply, requestLine } from "./reply.ts";

/** Last characters of stderr that an error shows. */
const stderrShown = 600;
/** Characters that a line of its stdout may have. */
const longestLine = 2 ** 24;
/** Seconds a program has to end by itself when its stdin is closed, and then after SIGTERM. */
const patience = 2;

type Outcome = { line: string } | { ended: string } | { late: true };

export function openCommand(options: PartOptions<"command">, { folder, env, signal }: PartContext): OpenPart {
  const { name, timeout_seconds, concurrency, restarts } = options;
  const argv = typeof options.command === "string" ? splitWords(options.command) : options.command;
  if (argv.length === 0) throw new HoneError("bad-reward-file", `reward part ${name}: the command is empty`);
  const limiter = new Limiter(concurrency);
  const idle: Program[] = [];
  const all = new Set<Program>();
  let crashes = 0;

  const start = () => {
    const program = new Program(argv, folder, env);
    all.add(program);
    return program;
  };
  const drop = async (program: Program) => {
    all.delete(program);
    await program.kill();
  };

  const stop = () => {
    for (const program of all) void program.kill("SIGKILL");
  };
  signal?.addEventListener("abort", stop);

  /** A crash may be left over from an earlier sample, so a sample gets a second program before it is blamed. */
  async function score(sample: RewardSample): Promise<RewardAnswer> {
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      const program = idle.pop() ?? start();
      const id = program.nextId();
      const outcome = await program.ask(requestLine(id, sample), timeout_seconds);
      signal?.throwIfAborted();
      if ("late" in outcome) {
        await drop(program);
        throw badSample(name, sample, `${argv[0]} took longer than ${timeout_seconds} s${program.said()}`);
      }
      if ("ended" in outcome) {
        await drop(program);
        crashes += 1;
        if (program.startError !== undefined) {
          throw new HoneError("reward-unavailable", `the reward part ${name} cannot start: ${program.startError}`, {
            fix: "check the command in the reward file; it runs without a shell, in the reward file's folder",
          });
        }
        if (crashes > restarts) {
          const why = `the reward part ${name} gives up after ${crashes} crashes: ${outcome.ended}${program.said()}`;
          throw new HoneError("reward-unavailable", why, { fix: "mend the program; `hone reward check` tries it" });
        }
        if (attempt === 1) continue;
        throw badSample(name, sample, `${argv[0]} ${outcome.ended}${program.said()}`);
      }
      const reply = readReply(outcome.line, id);
      if ("wrong" in reply) {
        await drop(program);
        const fix = "stdout is for reply lines only: print everything else to stderr";
        throw badSample(name, sample, `${reply.wrong}${program.said()}`, fix);
      }
      idle.push(program);
      if ("error" in reply) throw badSample(name, sample, reply.error);
      return reply.answer;
    }
  }

  return {
    description: `what the program ${argv.join(" ")} gives`,
    score: (sample) => limiter.run(() => score(sample)),
    async close() {
      signal?.removeEventListener("abort", stop);
      await Promise.all([...all].map((program) => program.close()));
      all.clear();
      idle.length = 0;
    },
  };
}

class Program {
  startError: string | undefined;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #exit: Promise<void>;
  #ended: string | undefined;
  #stderr = "";
  #id = 0;
  #settle: ((outcome: Outcome) => void) | undefined;

  constructor(argv: readonly string[], folder: string, env: PartContext["env"]) {
    const child = spawn(argv[0], argv.slice(1), {
      cwd: folder,
      env,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    this.#child = child;
    // Whoever has gone does not read: the end of the program is told by its own event.
    child.stdin.on("error", () => undefined);
    this.#readLines(child.stdout);
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => (this.#stderr = (this.#stderr + text).slice(-10 * stderrShown)));
    this.#exit = new Promise((resolve) => {
      const end = (why: string) => {
        this.#ended ??= why;
        this.#finish({ ended: this.#ended });
        resolve();
      };
      child.on("error", (error) => {
        const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
        this.startError = missing ? `there is no program ${argv[0]} (or no folder ${folder})` : error.message;
        end(this.startError);
      });
      // `close` comes when its last output has been read, `exit` may come before.
      child.on("close", (code, signal) =>
        end(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`),
      );
    });
  }

  #readLines(stdout: Readable): void {
    let rest = "";
    stdout.setEncoding("utf8");
    stdout.on("data", (text: string) => {
      rest += text;
      if (text.includes("\n")) {
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#finish({ line });
      }
      if (rest.length <= longestLine) return;
      rest = "";
      // With nobody to read what it writes, it ends.
      stdout.destroy();
      this.#ended = `wrote more than ${longestLine / 2 ** 20} MB on stdout without a line break`;
      this.#finish({ ended: this.#ended });
    });
    stdout.on("end", () => {
      if (rest !== "") this.#finish({ line: rest });
    });
  }

  nextId(): number {
    return ++this.#id;
  }

  /** What it said on stderr, for an error message. */
  said(): string {
    const text = this.#stderr.trim();
    return text === "" ? "" : `; it said: ${text.slice(-stderrShown)}`;
  }

  async ask(line: string, seconds: number): Promise<Outcome> {
    if (this.#ended !== undefined) return { ended: this.#ended };
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Outcome>((resolve) => {
        this.#settle = resolve;
        timer = setTimeout(() => resolve({ late: true }), seconds * 1000);
        this.#child.stdin.write(line);
      });
    } finally {
      clearTimeout(timer);
      this.#settle = undefined;
    }
  }

  /** A line that nobody asked for is met by the next question as its answer, and refused by its id. */
  #finish(outcome: Outcome): void {
    this.#settle?.(outcome);
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    if (!(await this.#gone())) await this.kill();
  }

  async kill(first: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.#child.kill(first);
    if (await this.#gone()) return;
    this.#child.kill("SIGKILL");
    await this.#gone();
  }

  async #gone(): Promise<boolean> {
    const controller = new AbortController();
    const late = sleep(patience * 1000, false, { signal: controller.signal }).catch(() => false);
    const gone = await Promise.race([this.#exit.then(() => true), late]);
    controller.abort();
    return gone;
  }
}

/** `python3 "my reward.py" --strict` as words; quotes hold together what has spaces. */
function splitWords(text: string): string[] {
  return Array.from(
    text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
    ([, double, single, plain]) => double ?? single ?? plain,
  );
}
