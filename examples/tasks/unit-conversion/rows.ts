/** Different questions, the same ones for a seed: `Math.random` follows from it. */

const units: [from: string, to: string, factor: number][] = [
  ["hours", "minutes", 60],
  ["minutes", "seconds", 60],
  ["days", "hours", 24],
  ["weeks", "days", 7],
  ["metres", "centimetres", 100],
  ["kilometres", "metres", 1000],
  ["kilograms", "grams", 1000],
  ["feet", "inches", 12],
];

export function rows(count: number, _seed: number): object[] {
  const made = new Map<string, object>();
  while (made.size < count) {
    const [from, to, factor] = units[Math.floor(Math.random() * units.length)];
    const amount = 2 + Math.floor(Math.random() * 60);
    made.set(`${amount} ${from}`, { from, to, amount, answer: amount * factor });
  }
  return [...made.values()];
}
