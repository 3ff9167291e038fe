import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactSaver } from "@longhaul/checkpointer";
import { pgClient } from "../saver/native.ts";

export const STORAGES = ["sqlite", "postgres"] as const;
export type Storage = (typeof STORAGES)[number];

export const POSTGRES = process.env.TEST_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/postgres";

/** Where the runs of one storage live: they differ by thread. */
export interface Place {
  readonly storage: Storage;
  readonly folder: string;
  /** File or URL. */
  readonly target: string;
  /** The world that the tools act on: a file of its own, outside the product. */
  readonly world: string;
}

let made = 0;

export function newPlace(storage: Storage): Place {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-effects-"));
  const world = join(folder, "world.db");
  if (storage === "sqlite") return { storage, folder, target: join(folder, "agent.db"), world };
  const url = new URL(POSTGRES);
  url.searchParams.set("schema", `longhaul_effects_${process.pid}_${made++}`);
  return { storage, folder, target: url.href, world };
}

export function openSaver({ target }: Place): CompactSaver {
  return CompactSaver.fromConnString(target);
}

export async function removePlace({ storage, folder, target }: Place): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  if (storage === "sqlite") return;
  const schema = new URL(target).searchParams.get("schema") ?? "";
  const client = pgClient(POSTGRES);
  await client.connect();
  try {
    await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  } finally {
    await client.end();
  }
}
