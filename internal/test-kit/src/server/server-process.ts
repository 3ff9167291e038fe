import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ServedRequest } from "./scripted-server.ts";

export interface ServerProcess {
  /** Base URL for clients, with `/v1`. */
  readonly url: string;
  readonly pid: number;
  /** What it served so far. */
  served(): Promise<readonly ServedRequest[]>;
  /** Ends the process and waits for it. Safe twice. */
  stop(): Promise<void>;
}

/** `node` arguments that let a child run TypeScript from source. */
export const TYPESCRIPT_ARGS: readonly string[] = [
  "--import",
  pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href,
];

/**
 * Starts a ScriptedServer in a process of its own; it ends with this process at the latest.
 *
 * @param modulePath a module that exports `serverOptions(config): ScriptedServerOptions`.
 * @param config JSON handed to it.
 */
export async function startServerProcess(modulePath: string, config: unknown = null): Promise<ServerProcess> {
  const entry = fileURLToPath(new URL("./serve.ts", import.meta.url));
  const child = spawn(process.execPath, [...TYPESCRIPT_ARGS, entry, modulePath, JSON.stringify(config)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), "line").then(([text]) => String(text)),
    exited.then(([code]) => {
      throw new Error(`The server process ended with ${code} before it listened`);
    }),
  ]);
  const { url } = JSON.parse(line) as { url: string };
  return {
    url,
    pid: child.pid ?? 0,
    served: async () => (await fetch(url.replace(/\/v1$/, "/stats"))).json() as Promise<ServedRequest[]>,
    async stop() {
      child.stdin.end();
      child.kill("SIGTERM");
      await exited;
    },
  };
}
