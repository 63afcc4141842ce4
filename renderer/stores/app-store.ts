/** What every page needs: the connection, the settings, the jobs. Knows nothing of React. */

import { createStore, type StoreApi } from "zustand/vanilla";
import type { Api } from "../../core/contract/api/api.ts";
import type { AppInfo, Settings } from "../../core/contract/api/app-calls.ts";
import type { Job } from "../../core/contract/api/job-calls.ts";
import type { Download } from "../../core/contract/hub.ts";
import type { Connection } from "../api/socket-channel.ts";

export interface AppState {
  connection: Connection;
  info: AppInfo | undefined;
  settings: Settings | undefined;
  jobs: Job[];
  downloads: Download[];
}

export type AppStore = StoreApi<AppState>;

export function createAppStore(): AppStore {
  return createStore<AppState>(() => ({
    connection: "connecting",
    info: undefined,
    settings: undefined,
    jobs: [],
    downloads: [],
  }));
}

/** Fills the store, and keeps it so. Resolves when there is enough to show a page. */
export async function followApp(api: Api, store: AppStore): Promise<void> {
  api.subscribe("jobs", (jobs) => {
    store.setState({ jobs });
  });
  api.subscribe("downloads", (downloads) => {
    store.setState({ downloads });
  });
  api.subscribe("settings", (settings) => {
    store.setState({ settings });
  });
  store.setState({ info: await api.call("app.info", {}), settings: await api.call("settings.get", {}) });
}

export function activeJobs(jobs: readonly Job[]): Job[] {
  return jobs.filter(({ ended }) => ended === null);
}

/** Whether it moves, or will by itself. */
export function isUnderWay({ state }: Download): boolean {
  return state === "queued" || state === "downloading" || state === "checking";
}
