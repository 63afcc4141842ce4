import { configDefaults, defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, "test/fixtures/**"],
    // The native engine belongs to a process, not to a thread: every test file gets a process of its own.
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
