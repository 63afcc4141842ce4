/** Where a task is shown. */
export function taskLink(reference: string, tab?: TaskTab): string {
  const link = `/tasks/task/${encodeURIComponent(reference)}`;
  return tab === undefined || tab === "rows" ? link : `${link}/${tab}`;
}

export const taskTabs = ["rows", "rules", "check", "files"] as const;
export type TaskTab = (typeof taskTabs)[number];

export function adviceLink(reference: string): string {
  return `/tasks/advise/${encodeURIComponent(reference)}`;
}
