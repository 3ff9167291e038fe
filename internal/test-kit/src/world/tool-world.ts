import type { Json } from "@longhaul/core";
import Database from "better-sqlite3";

export interface EffectRequest {
  readonly tool: string;
  /** What the effect is in the world's own terms, such as `quote:acme`: two effects with one identity are a duplicate. */
  readonly business: string;
  /** Idempotency key. With it the world de-duplicates, as a good server does; without it each request is done. */
  readonly key?: string | undefined;
  readonly payload: Json;
  /** Makes the result of the n-th effect of this tool, n from 1. */
  readonly result: (n: number) => Json;
}

export interface EffectOutcome {
  readonly result: Json;
  /** The result of an earlier request with the same key. */
  readonly deduplicated: boolean;
}

export interface BusinessCount {
  readonly tool: string;
  readonly business: string;
  /** Requests that reached the world. */
  readonly asked: number;
  /** Effects done. */
  readonly done: number;
}

export interface EffectReport {
  readonly asked: number;
  readonly done: number;
  /** Effects beyond the first of each identity. */
  readonly duplicates: number;
  readonly byBusiness: readonly BusinessCount[];
}

/** A key came again with another payload. */
export class KeyConflictError extends Error {
  readonly status = 409;
  constructor(key: string) {
    super(`The idempotency key ${key} was used for another request.`);
    this.name = "KeyConflictError";
  }
}

/**
 * The world that tools act on, outside of the product: a SQLite file that counts each effect, so that "done twice" shows
 * even when the process that did it is dead. Every effect is on disk before `perform` returns. Several processes may share
 * a file.
 */
export class ToolWorld {
  readonly #db: Database.Database;

  private constructor(db: Database.Database) {
    this.#db = db;
  }

  /** Opens or creates the file. */
  static open(path: string): ToolWorld {
    const db = new Database(path, { timeout: 10_000 });
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = FULL");
    db.exec(`
      CREATE TABLE IF NOT EXISTS requests (seq INTEGER PRIMARY KEY, tool TEXT, business TEXT, key TEXT, pid INTEGER);
      CREATE TABLE IF NOT EXISTS effects (
        seq INTEGER PRIMARY KEY, tool TEXT, business TEXT, key TEXT, payload TEXT, result TEXT
      );
      CREATE UNIQUE INDEX IF NOT EXISTS effect_key ON effects (tool, key) WHERE key IS NOT NULL;
      CREATE INDEX IF NOT EXISTS effect_business ON effects (tool, business);
    `);
    return new ToolWorld(db);
  }

  /** Does the effect, or gives the result that its key got before. @throws KeyConflictError */
  perform(request: EffectRequest): EffectOutcome {
    const { tool, business, key = null } = request;
    const payload = JSON.stringify(request.payload);
    const run = this.#db.transaction((): EffectOutcome => {
      this.#db
        .prepare("INSERT INTO requests (tool, business, key, pid) VALUES (?, ?, ?, ?)")
        .run(tool, business, key, process.pid);
      const earlier = this.#db
        .prepare("SELECT payload, result FROM effects WHERE tool = ? AND key = ?")
        .get(tool, key) as { payload: string; result: string } | undefined;
      if (earlier && earlier.payload !== payload) throw new KeyConflictError(String(key));
      if (earlier) return { result: JSON.parse(earlier.result), deduplicated: true };
      const { n } = this.#db.prepare("SELECT count(*) + 1 AS n FROM effects WHERE tool = ?").get(tool) as {
        n: number;
      };
      const result = request.result(n);
      this.#db
        .prepare("INSERT INTO effects (tool, business, key, payload, result) VALUES (?, ?, ?, ?, ?)")
        .run(tool, business, key, payload, JSON.stringify(result));
      return { result, deduplicated: false };
    });
    return run.immediate();
  }

  /** Result of the first effect with this identity: what a lookup at the server would find. */
  find(tool: string, business: string): Json | undefined {
    const row = this.#db
      .prepare("SELECT result FROM effects WHERE tool = ? AND business = ? ORDER BY seq LIMIT 1")
      .get(tool, business) as { result: string } | undefined;
    return row && JSON.parse(row.result);
  }

  /** Results of a tool's effects, in the order in which they were done. */
  results(tool: string): readonly Json[] {
    const rows = this.#db.prepare("SELECT result FROM effects WHERE tool = ? ORDER BY seq").all(tool);
    return (rows as { result: string }[]).map((row) => JSON.parse(row.result));
  }

  effects(): EffectReport {
    const byBusiness = this.#db
      .prepare(
        `SELECT r.tool, r.business, count(*) AS asked,
           (SELECT count(*) FROM effects e WHERE e.tool = r.tool AND e.business = r.business) AS done
         FROM requests r GROUP BY r.tool, r.business ORDER BY r.tool, r.business`,
      )
      .all() as BusinessCount[];
    return {
      asked: byBusiness.reduce((sum, { asked }) => sum + asked, 0),
      done: byBusiness.reduce((sum, { done }) => sum + done, 0),
      duplicates: byBusiness.reduce((sum, { done }) => sum + Math.max(0, done - 1), 0),
      byBusiness,
    };
  }

  close(): void {
    this.#db.close();
  }
}
