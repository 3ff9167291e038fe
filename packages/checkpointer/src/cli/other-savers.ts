import { existsSync } from "node:fs";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { MissingPeerError } from "@longhaul/core";
import { UnreadableTargetError } from "../errors.ts";

export interface OtherSaver {
  readonly saver: BaseCheckpointSaver;
  end(): Promise<void>;
}

/** An official saver over its own database: `sqlite-saver:file`, `postgres-saver:url`. undefined for a target of ours. */
export async function openOther(target: string): Promise<OtherSaver | undefined> {
  const sqlite = /^sqlite-saver:(.+)$/s.exec(target);
  if (sqlite) {
    const { SqliteSaver } = await load("@langchain/langgraph-checkpoint-sqlite");
    const path = sqlite[1] as string;
    // it would make one
    if (!existsSync(path)) throw new UnreadableTargetError({ target: path, reason: "there is no such file" });
    const saver = SqliteSaver.fromConnString(path);
    return { saver, end: async () => saver.db.close() };
  }
  const postgres = /^postgres-saver:(.+)$/s.exec(target);
  if (postgres) {
    const { PostgresSaver } = await load("@langchain/langgraph-checkpoint-postgres");
    const saver = PostgresSaver.fromConnString(postgres[1]);
    return { saver, end: () => saver.end() };
  }
  return undefined;
}

/** Not a dependency: who has such a database has its saver. */
async function load(name: string) {
  try {
    return await import(name);
  } catch (cause) {
    throw new MissingPeerError({ packageName: name, neededFor: "Reading its database", cause });
  }
}
