/** A reward of one's own: how good is this answer? Try it with `hone reward check` and `hone reward try`. */

/** What a sample holds that this reward looks at; the README has the rest. */
interface Sample {
  /** What the model wrote, without its reasoning. */
  answer: string;
  /** The columns of the data row. */
  row: { answer?: unknown };
}

/** Names of the parts, with their weights: the reward is the sum of weight × value. */
export const parts = { correct: 1, short: 0.2 };

export default function reward({ answer, row }: Sample) {
  const numbers = answer.match(/-?\d+(\.\d+)?/g) ?? [];
  const correct = numbers.length > 0 && Number(numbers[numbers.length - 1]) === Number(row.answer);
  const words = answer.split(/\s+/).length;
  return { parts: { correct: correct ? 1 : 0, short: words <= 40 ? 1 : 0 } };
}
