import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A process of worker.ts that goes with the test. Its storage: a target, and for Redis a prefix. */
export function worker(what: string, target: string, ...args: string[]): ChildProcess {
  const [url = "", keyPrefix = ""] = target.split("#");
  const child = fork(fileURLToPath(new URL("./worker.ts", import.meta.url)), [what, url, ...args], {
    execArgv: ["--import", "tsx"],
    env: { ...process.env, WORKER_KEY_PREFIX: keyPrefix },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** Its exit code. */
export function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once("exit", (code) => resolve(code)));
}

/** Everything that it says until it ends. */
export function allTold<T>(child: ChildProcess, hear: (told: readonly T[]) => void = () => {}): Promise<T[]> {
  const told: T[] = [];
  return new Promise((resolve) => {
    child.on("message", (message) => {
      told.push(message as T);
      hear(told);
    });
    // after the exit no message is left in the channel
    let open = 2;
    const close = () => --open === 0 && resolve(told);
    child.once("exit", close);
    child.once("disconnect", close);
  });
}
