import { defineConfig } from "vitest/config";

const project = (name: string, root: string) => ({
  extends: true as const,
  test: { name, root, include: ["src/**/*.test.ts", "test/**/*.test.ts"] },
});

export default defineConfig({
  test: {
    retry: 0,
    // Most slow tests wait for child processes; one worker fewer than cores would leave a core idle.
    maxWorkers: "100%",
    testTimeout: 20_000,
    projects: [
      project("core", "packages/core"),
      project("graph-nodes", "packages/graph-nodes"),
      project("checkpointer", "packages/checkpointer"),
      project("middleware", "packages/middleware"),
      project("test-kit", "internal/test-kit"),
      {
        extends: true,
        test: {
          name: "types",
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: ["packages/*/test/**/*.test-d.ts"],
            tsconfig: "./tsconfig.type-tests.json",
          },
        },
      },
      {
        extends: true,
        test: { name: "bench", root: "bench", include: ["**/*.test.ts"] },
      },
      {
        extends: true,
        test: { name: "examples", root: "examples", include: ["**/*.test.ts"], testTimeout: 120_000 },
      },
    ],
  },
});
