import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunnableConfig } from "@langchain/core/runnables";
import { CompactSaver, type CompactSaverOptions } from "@longhaul/checkpointer";
import { onTestFinished } from "vitest";

/** A path in a folder that goes when the test ends. */
export function tempFile(name = "agent.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-saver-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

export function open(target: string, options?: CompactSaverOptions): CompactSaver {
  const saver = CompactSaver.fromConnString(target, options);
  onTestFinished(() => saver.end());
  return saver;
}

/** Channel values of a checkpoint that must be there. */
export async function valuesOf<T>(saver: CompactSaver, config: RunnableConfig): Promise<T> {
  const checkpoint = await saver.get(config);
  if (!checkpoint) throw new Error("no such checkpoint");
  return checkpoint.channel_values as T;
}
