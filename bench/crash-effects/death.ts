import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { RecordStore } from "@longhaul/core";
import { type CrashPoint, CrashPoints, crashNow } from "@longhaul/test-kit";

/** When a life ends by itself. */
export type Death =
  /** At a point between the steps of an effect. */
  | { readonly at: "point"; readonly point: CrashPoint; readonly tool: string; readonly nth: number }
  /** Behind the nth effect in the world: the only point that a run without a ledger has. */
  | { readonly at: "effect"; readonly nth: number }
  /** Before or behind the nth write of a record or to the saver. */
  | { readonly at: "write"; readonly nth: number; readonly behind: boolean }
  /** Behind the first superstep or the first commit of an effect that this life makes. */
  | { readonly at: "progress" }
  | { readonly at: "never" };

/** Makes a process die as planned. All of it stands outside the product: around its record store, its saver and the world. */
export class Reaper {
  readonly #death: Death;
  readonly #points: CrashPoints;
  #effects = 0;
  #writes = 0;

  constructor(death: Death) {
    this.#death = death;
    const plan = death.at === "point" ? { at: death.point, tool: death.tool, nth: death.nth } : undefined;
    this.#points = new CrashPoints(plan);
  }

  records(inner: RecordStore): RecordStore {
    const pointed = this.#points.records(inner);
    return {
      ...pointed,
      compareAndSet: async (key, expected, value, options) => {
        const commits = (value as { state?: unknown } | null)?.state === "committed";
        return this.#write(commits, () => pointed.compareAndSet(key, expected, value, options));
      },
    };
  }

  saver<T extends BaseCheckpointSaver>(inner: T): T {
    const pointed = this.#points.saver(inner);
    const put = (...args: Parameters<T["put"]>) =>
      this.#write(true, () => pointed.put(...(args as Parameters<BaseCheckpointSaver["put"]>)));
    const putWrites = (...args: Parameters<T["putWrites"]>) =>
      this.#write(false, () => pointed.putWrites(...(args as Parameters<BaseCheckpointSaver["putWrites"]>)));
    return new Proxy(pointed, {
      get: (target, property) => {
        if (property === "put") return put;
        if (property === "putWrites") return putWrites;
        return Reflect.get(target, property, target) as unknown;
      },
    });
  }

  /** An effect has happened. */
  effectDone(): void {
    if (this.#death.at === "effect" && ++this.#effects === this.#death.nth) crashNow();
  }

  async #write<T>(isProgress: boolean, write: () => Promise<T>): Promise<T> {
    const nth = ++this.#writes;
    const planned = this.#death.at === "write" && this.#death.nth === nth ? this.#death : undefined;
    if (planned && !planned.behind) crashNow();
    const result = await write();
    if (planned || (this.#death.at === "progress" && isProgress)) crashNow();
    return result;
  }
}
