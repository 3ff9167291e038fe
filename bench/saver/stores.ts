import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { CompactSaver } from "@longhaul/checkpointer";
import { pgClient } from "./native.ts";

/** Where a saver keeps its data, as plain JSON, so that a child process can open it. */
export interface StoreSpec {
  readonly saver: "CompactSaver" | "SqliteSaver" | "PostgresSaver";
  /** A file, or the URL of a Postgres server. */
  readonly target: string;
  readonly schema?: string;
}

export interface Store {
  readonly spec: StoreSpec;
  /** On disk, indices and logs included. Of a file: after closing. */
  bytes(): Promise<number>;
  remove(): Promise<void>;
}

async function openSaver({ saver, target, schema }: StoreSpec): Promise<BaseCheckpointSaver> {
  if (saver === "SqliteSaver") return SqliteSaver.fromConnString(target);
  if (saver === "PostgresSaver") {
    const official = PostgresSaver.fromConnString(target, { schema: schema ?? "public" });
    await official.setup();
    return official;
  }
  const url = schema === undefined ? undefined : new URL(target);
  url?.searchParams.set("schema", schema ?? "");
  const ours: BaseCheckpointSaver<string> = CompactSaver.fromConnString(url?.href ?? target);
  // versions are opaque to all that is done with it here
  return ours as unknown as BaseCheckpointSaver;
}

async function closeSaver(saver: BaseCheckpointSaver): Promise<void> {
  if (saver instanceof SqliteSaver) saver.db.close();
  else if (saver instanceof PostgresSaver) await saver.end();
  else if ((saver as unknown) instanceof CompactSaver) await (saver as unknown as CompactSaver).end();
}

export async function withSaver<T>(
  spec: StoreSpec,
  job: (saver: BaseCheckpointSaver) => Promise<T>,
): Promise<T> {
  const saver = await openSaver(spec);
  try {
    return await job(saver);
  } finally {
    await closeSaver(saver);
  }
}

export function sqliteStore(saver: "CompactSaver" | "SqliteSaver"): Store {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-bench-"));
  return {
    spec: { saver, target: join(folder, "agent.db") },
    bytes: async () => readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function postgresStore(saver: "CompactSaver" | "PostgresSaver", url: string): Store {
  const schema = `longhaul_bench_${saver.toLowerCase()}_${process.pid}`;
  const query = async (sql: string): Promise<readonly Record<string, unknown>[]> => {
    const client = pgClient(url);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    spec: { saver, target: url, schema },
    bytes: async () => {
      const [row] = await query(
        `SELECT sum(pg_total_relation_size(c.oid))::float8 AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = '${schema}' AND c.relkind = 'r'`,
      );
      return Number(row?.bytes);
    },
    remove: async () => {
      await query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    },
  };
}

export function answers(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url);
  return new Promise((resolve) => {
    const socket = createConnection({
      host: hostname,
      port: Number(port || (protocol.startsWith("redis") ? 6379 : 5432)),
      timeout: 2_000,
    });
    const done = (does: boolean) => {
      socket.destroy();
      resolve(does);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
    socket.once("timeout", () => done(false));
  });
}
