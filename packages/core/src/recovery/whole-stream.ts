import type { RunnableConfig } from "@langchain/core/runnables";
import type { GraphDriver } from "./supervisable-graph.ts";

/**
 * Streams one attempt and loses nothing of it. LangGraph drops what nobody has read yet when a graph fails, so this reads at
 * the graph's own pace, whatever the reader's, and makes each write to the checkpointer last one turn of the event loop: LangGraph waits
 * for its writes before it reports an error, and in that turn everything is read that stands before it.
 *
 * Left early, it stops the graph and waits until nothing of it can be written any more.
 */
export async function* wholeStream(
  driver: GraphDriver,
  input: unknown,
  config: RunnableConfig,
): AsyncGenerator<unknown, void> {
  const left = new AbortController();
  const unread: unknown[] = [];
  let end: { readonly error?: unknown } | undefined;
  let wake = () => {};
  const read = async () => {
    const stream = await driver.stream(input, {
      ...config,
      signal: AbortSignal.any([left.signal, ...(config.signal ? [config.signal] : [])]),
      configurable: { ...config.configurable, [CHECKPOINTER]: patient(driver.checkpointer as object) },
    });
    for await (const item of stream) {
      unread.push(item);
      wake();
    }
  };
  const reading = read()
    .then(
      () => ({}),
      (error: unknown) => ({ error }),
    )
    .then((how) => {
      end = how;
      wake();
    });
  try {
    for (;;) {
      while (unread.length > 0) yield unread.shift();
      if (end) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    left.abort(new DOMException("Whoever read the stream stopped reading.", "AbortError"));
    await reading;
  }
  if ("error" in end) throw end.error;
}

/** LangGraph's key for the checkpointer that a parent lends to a graph; it goes before the graph's own. */
const CHECKPOINTER = "__pregel_checkpointer";

const WRITES: readonly PropertyKey[] = ["put", "putWrites"];

function patient(saver: object): object {
  return new Proxy(saver, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!WRITES.includes(name)) return value.bind(target);
      return async (...args: unknown[]) => {
        try {
          return await value.apply(target, args);
        } finally {
          await turn();
        }
      };
    },
  });
}

// Taken once: tests that fake the timers fake this too.
const { setImmediate: soon } = globalThis;

function turn(): Promise<void> {
  return new Promise((resolve) => soon(resolve));
}
