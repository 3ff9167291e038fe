import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { LonghaulError, type LonghaulEvent } from "@longhaul/core";
import { TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import type { CountedCall } from "../../shared/token-costs.ts";
import type { AgentConfig, AgentEnd, AgentMessage, AgentOrder } from "./agent-messages.ts";

/** How an agent process ended: with a result, killed, or broken. */
export type ChildEnd =
  | { readonly kind: "ended"; readonly end: AgentEnd }
  | { readonly kind: "killed" }
  | { readonly kind: "failed"; readonly code: number | null; readonly stderr: string };

/** The agent process ended in a way that no kill explains. */
export class AgentProcessError extends LonghaulError {
  readonly code = "AGENT_PROCESS";
  constructor({ code, stderr }: Extract<ChildEnd, { kind: "failed" }>) {
    super(`The agent process ended with code ${code}, which no kill explains.\n${stderr}`);
  }
}

/** Ctrl-C during the full-history run, which cannot be taken up again. */
export class StoppedError extends LonghaulError {
  readonly code = "STOPPED";
  constructor() {
    super("Stopped during the full-history run, before the main job. There is nothing to go on with.");
  }
}

export interface AgentWatch {
  readonly onEvent?: ((event: LonghaulEvent) => void) | undefined;
  readonly onCall?: ((call: CountedCall) => void) | undefined;
  /** Asks the agent to pause at its next step. */
  readonly pause?: AbortSignal | undefined;
  /** Kills it. */
  readonly stop?: AbortSignal | undefined;
}

/** Runs one agent process to its end. Only SIGKILL counts as a kill; another death is a failure of the demo. */
export async function runAgentProcess(config: AgentConfig, watch: AgentWatch = {}): Promise<ChildEnd> {
  const entry = fileURLToPath(new URL("./agent-process.ts", import.meta.url));
  const child = fork(entry, [JSON.stringify(config)], {
    execArgv: [...TYPESCRIPT_ARGS],
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    // Ctrl-C goes to a whole process group and would end a child that is still loading; so only the parent hears it.
    detached: true,
  });
  let end: AgentEnd | undefined;
  let stderr = "";
  child.on("message", (message: AgentMessage) => {
    if (message.type === "event") watch.onEvent?.(message.event);
    else if (message.type === "call") watch.onCall?.(message.call);
    else end = message.end;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-4_000);
  });
  const order: AgentOrder = { type: "pause" };
  // A child that ends at this moment cannot be told any more, and need not be.
  const askPause = () => void child.send(order, () => {});
  const kill = () => void child.kill("SIGKILL");
  watch.pause?.addEventListener("abort", askPause);
  watch.stop?.addEventListener("abort", kill);
  if (watch.pause?.aborted) askPause();
  if (watch.stop?.aborted) kill();
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    if (signal === "SIGKILL") return { kind: "killed" };
    if (end && code === 0) return { kind: "ended", end };
    return { kind: "failed", code, stderr };
  } finally {
    watch.pause?.removeEventListener("abort", askPause);
    watch.stop?.removeEventListener("abort", kill);
  }
}
