import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import type { AgentConfig, AgentEnd, AgentMessage } from "./agent-messages.ts";
import type { ProgressLine } from "./progress-line.ts";

/** How an agent process ended: with a result, killed, or broken. */
export type ChildEnd =
  | { readonly kind: "ended"; readonly end: AgentEnd }
  | { readonly kind: "killed" }
  | { readonly kind: "failed"; readonly code: number | null; readonly stderr: string };

/** Runs one agent process to its end. Only SIGKILL counts as a kill; another death is a failure of the demo. */
export async function runAgentProcess(
  config: AgentConfig,
  progress: Pick<ProgressLine, "see">,
): Promise<ChildEnd> {
  const entry = fileURLToPath(new URL("./agent-process.ts", import.meta.url));
  const child = fork(entry, [JSON.stringify(config)], {
    execArgv: [...TYPESCRIPT_ARGS],
    stdio: ["ignore", "inherit", "pipe", "ipc"],
  });
  let end: AgentEnd | undefined;
  let stderr = "";
  child.on("message", (message: AgentMessage) => {
    if (message.type === "event") progress.see(message.event);
    else end = message.end;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-4_000);
  });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  if (signal === "SIGKILL") return { kind: "killed" };
  if (end && code === 0) return { kind: "ended", end };
  return { kind: "failed", code, stderr };
}
