import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { Json, RecordStore } from "@longhaul/core";

/**
 * Places between the steps of an effect at which a process may die:
 * K1 before the claim, K2 claimed and the effect not done, K3 done and not recorded, K4 recorded and no checkpoint yet,
 * K5 after the checkpoint that follows.
 */
export type CrashPoint = "K1" | "K2" | "K3" | "K4" | "K5";

export interface CrashPlan {
  readonly at: CrashPoint;
  /** @default any tool */
  readonly tool?: string | undefined;
  /** Which arrival at the point, from 1. @default 1 */
  readonly nth?: number | undefined;
}

/** What a write to the effect ledger says. */
export interface EffectWrite {
  readonly tool: string;
  readonly state: string;
}

export interface CrashOptions {
  /** How to die. @default crashNow */
  readonly crash?: (() => never) | undefined;
  /** Reads the value of an effect record. @default its `tool` and `state` */
  readonly readWrite?: ((value: Json) => EffectWrite | undefined) | undefined;
}

/** Variable that carries a plan into a child process: `K3`, `K3:charge` or `K3:charge:2`. */
export const CRASH_VARIABLE = "CRASH_AT";

/** Dies at once, as by power loss for this process: no handler, no flush. */
export function crashNow(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal is delivered before the call returns; the loop is for the type.
  for (;;);
}

export function parseCrashPlan(text: string): CrashPlan {
  const match = /^(K[1-5])(?::([^:]+))?(?::([1-9]\d*))?$/.exec(text);
  if (!match) throw new RangeError(`"${text}" is no crash plan such as K3, K3:charge or K3:charge:2`);
  const [, at, tool, nth] = match;
  return {
    at: at as CrashPoint,
    tool: tool === "*" ? undefined : tool,
    nth: nth === undefined ? 1 : Number(nth),
  };
}

/** The plan of this process, or undefined to let it live. */
export function crashPlanFromEnv(env: NodeJS.ProcessEnv = process.env): CrashPlan | undefined {
  const text = env[CRASH_VARIABLE];
  return text ? parseCrashPlan(text) : undefined;
}

/**
 * Makes a process die at a named point, without a hook in the product: it watches the writes to the effect ledger and to
 * the saver. Wrap the record store before building a storage over it, and the saver that the graph gets.
 */
export class CrashPoints {
  readonly #plan: CrashPlan | undefined;
  readonly #crash: () => never;
  readonly #readWrite: (value: Json) => EffectWrite | undefined;
  readonly #stateOf = new Map<string, string>();
  #arrivals = 0;
  #untilCheckpoint: string[] = [];

  constructor(plan: CrashPlan | undefined, options: CrashOptions = {}) {
    this.#plan = plan;
    this.#crash = options.crash ?? crashNow;
    this.#readWrite = options.readWrite ?? readEffectWrite;
  }

  /** Says that the process is at a point; dies if it is the planned one. */
  reach(point: CrashPoint, tool: string): void {
    const plan = this.#plan;
    if (!plan || plan.at !== point || (plan.tool !== undefined && plan.tool !== tool)) return;
    if (++this.#arrivals === (plan.nth ?? 1)) this.#crash();
  }

  /** A view of the record store that dies around claims (K1, K2) and commits (K3, K4) of effects. */
  records(inner: RecordStore): RecordStore {
    return {
      get: (key) => inner.get(key),
      delete: (key, expected) => inner.delete(key, expected),
      list: (collection, thread, prefix) => inner.list(collection, thread, prefix),
      compareAndSet: async (key, expected, value, options) => {
        const write = key.collection === "effects" ? this.#readWrite(value) : undefined;
        if (!write) return inner.compareAndSet(key, expected, value, options);
        const id = JSON.stringify([key.thread, key.key]);
        // Heartbeats and saved progress write a claim again: only the change of state is a point.
        const moves = this.#stateOf.get(id) !== write.state;
        const claims = moves && write.state === "claimed";
        const commits = moves && write.state === "committed";
        if (claims) this.reach("K1", write.tool);
        if (commits) this.reach("K3", write.tool);
        const result = await inner.compareAndSet(key, expected, value, options);
        if (!result.ok) return result;
        this.#stateOf.set(id, write.state);
        if (claims) this.reach("K2", write.tool);
        if (commits) {
          this.reach("K4", write.tool);
          this.#untilCheckpoint.push(write.tool);
        }
        return result;
      },
    };
  }

  /** A view of the saver that dies behind the checkpoint that follows a commit (K5). All else goes through. */
  saver<T extends BaseCheckpointSaver>(inner: T): T {
    const put = async (...args: Parameters<T["put"]>) => {
      const committed = this.#untilCheckpoint;
      const result = await inner.put(...(args as Parameters<BaseCheckpointSaver["put"]>));
      this.#untilCheckpoint = this.#untilCheckpoint.filter((tool) => !committed.includes(tool));
      for (const tool of committed) this.reach("K5", tool);
      return result;
    };
    return new Proxy(inner, {
      get(target, property) {
        if (property === "put") return put;
        const value = Reflect.get(target, property, target) as unknown;
        // Bound, because private fields live on the saver and not on the proxy.
        return typeof value === "function" && property !== "constructor" ? value.bind(target) : value;
      },
      set: (target, property, value) => Reflect.set(target, property, value, target),
    });
  }
}

function readEffectWrite(value: Json): EffectWrite | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { tool, state } = value as { readonly tool?: unknown; readonly state?: unknown };
  return typeof tool === "string" && typeof state === "string" ? { tool, state } : undefined;
}
