/**
 * The house: `start` makes the state, `step` answers one turn of the model, `end` scores what a limit has cut off.
 * All of them are pure functions; the state goes from call to call as JSON.
 */

interface Row {
  room: string;
  degrees: number;
}

interface State extends Row {
  read: boolean;
  /** Room → level. */
  heating: Record<string, string>;
  failure?: string;
}

interface Action {
  /** What the model said, without its calls. */
  content: string;
  tool_calls: { name: string; arguments: Record<string, string> }[];
  /** Calls that do not count, and why. */
  problems: { code: string; message: string }[];
  stop_reason: string;
  /** From 1. */
  turn: number;
}

export function start({ room, degrees }: Row, _seed: number): State {
  return { room, degrees, read: false, heating: {} };
}

export function step(state: State, action: Action) {
  const [call] = action.tool_calls;
  if (action.problems.length > 0) {
    const messages = [{ role: "tool", content: `error: ${action.problems[0].message}` }];
    return { state: { ...state, failure: "bad_call" }, messages, done: false };
  }
  // An answer without a call is the last one.
  if (call === undefined) return { state, done: true, score: score(state, action.content) };
  const { room, level } = call.arguments;
  const answer = (content: string, change: Partial<State> = {}) => ({
    state: { ...state, ...change },
    messages: [{ role: "tool", name: call.name, content }],
    done: false,
  });
  if (call.name === "read_thermometer") {
    if (room !== state.room) return answer(`error: there is no thermometer in the ${room}`);
    return answer(`${state.degrees} degrees`, { read: true });
  }
  const heating = { ...state.heating, [room]: level };
  return answer(`the heating of the ${room} is ${level}`, {
    heating,
    ...(room !== state.room && { failure: "wrong_room" }),
  });
}

export function end(state: State, _reason: string) {
  return score(state, "");
}

/** The right answers of the model; Hone plays them to get the tool results in between. */
export function solve({ room, degrees }: Row) {
  return [
    { tool_calls: [{ name: "read_thermometer", arguments: { room } }] },
    { tool_calls: [{ name: "set_heating", arguments: { room, level: levelFor(degrees) } }] },
    `The ${room} has ${degrees} degrees.`,
  ];
}

function levelFor(degrees: number): string {
  return degrees < 18 ? "high" : degrees <= 21 ? "low" : "off";
}

function score({ room, degrees, read, heating, failure }: State, said: string) {
  const set = read && heating[room] === levelFor(degrees) && Object.keys(heating).length === 1;
  const numbers = said.match(/\d+/g) ?? [];
  const parts = {
    read: read ? 1 : 0,
    set: set ? 1 : 0,
    said: set && numbers.length === 1 && Number(numbers[0]) === degrees ? 1 : 0,
  };
  return { parts, ...(failure !== undefined && parts.set === 0 && { failure }) };
}
