/** Where a reward is worked on. */
export function labLink(path: string): string {
  return `/rewards/lab/${encodeURIComponent(path)}`;
}
