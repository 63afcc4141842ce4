/** How an area's calls are served. */

import type {
  Area,
  areas,
  CallInput,
  CallName,
  CallResult,
  CheckedInput,
  TopicName,
  Topics,
} from "../../contract/api/api.ts";
import type { SecretName } from "../../contract/api/app-calls.ts";
import type { JobKind } from "../../contract/api/job-calls.ts";

/** The calls of an area, each with what serves it. */
export type Handlers<A extends Area> = {
  [Name in keyof (typeof areas)[A] & CallName]: (
    input: CheckedInput<Name>,
    context: CallContext,
  ) => CallResult<Name> | Promise<CallResult<Name>>;
};

/** What a handler may use beside its input. */
export interface CallContext {
  /** Aborted when the caller no longer wants the answer. */
  readonly signal: AbortSignal;
  /** Calls another area, wherever it is served. */
  call<Name extends CallName>(name: Name, input: CallInput<Name>): Promise<CallResult<Name>>;
  tell<Name extends TopicName>(topic: Name, news: Topics[Name], key?: string): void;
  /** A hub's access token, from where Hone keeps it; null when there is none. */
  secret(name: SecretName): Promise<string | null>;
  /** Begins work of `core/app/works` in a thread of its own, and returns the job's id. */
  startJob(order: JobOrder): Promise<string>;
}

export interface JobOrder {
  kind: JobKind;
  title: string;
  /** A file of `core/app/works`. */
  work: string;
  /** What the work is given; plain data. */
  input: unknown;
  /** A run that is trained: at most one job may have it. */
  run?: string;
}
