import { hasUsage, readUsage, type Usage } from "./usage.ts";

/**
 * Watches the chunks of one streamed answer. By LangChain's contract chunks carry what is new, and the final message their sum;
 * some integrations repeat the running total instead, and then the final message's sum is a multiple of the truth.
 */
export class StreamUsage {
  readonly #reports: Usage[] = [];

  /** @param chunk the message of a chunk */
  see(chunk: unknown): void {
    if (hasUsage(chunk)) this.#reports.push(readUsage(chunk, { input: 0, output: 0 }));
  }

  /** Usage of the whole stream as far as it went; undefined when no chunk had any. */
  total(): Usage | undefined {
    const last = this.#reports.at(-1);
    if (!last) return undefined;
    return this.isCumulative() ? this.#largest() : this.#sum();
  }

  /** Only a running total repeats the input: deltas carry it once. */
  isCumulative(): boolean {
    const inputs = this.#reports.map((report) => report.input).filter((input) => input > 0);
    return inputs.length > 1 && inputs.every((input, i) => i === 0 || input >= (inputs[i - 1] as number));
  }

  #largest(): Usage {
    return this.#reports.reduce((most, next) => combine(most, next, Math.max));
  }

  #sum(): Usage {
    return this.#reports.reduce((sum, next) => combine(sum, next, (a, b) => a + b));
  }
}

function combine(a: Usage, b: Usage, of: (x: number, y: number) => number): Usage {
  return {
    input: of(a.input, b.input),
    output: of(a.output, b.output),
    cached: of(a.cached, b.cached),
    cacheWrite: of(a.cacheWrite, b.cacheWrite),
    reasoning: of(a.reasoning, b.reasoning),
    estimated: 0,
    suspect: a.suspect || b.suspect,
  };
}
