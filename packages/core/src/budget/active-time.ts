import type { Clock } from "../clock.ts";

/**
 * Wall time in which a run works, as one process sees it: the union of all open spans, so parallel tools count once and
 * waiting for a person, or for a process to come back, not at all. Monotonic: a clock that is set back changes nothing.
 */
export class ActiveTime {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #runs = new Map<string, { open: number; since: number }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Opens a span. */
  enter(run: string): void {
    const spans = this.#runs.get(run) ?? { open: 0, since: 0 };
    if (spans.open === 0) spans.since = this.#clock.monotonic();
    spans.open += 1;
    this.#runs.set(run, spans);
  }

  /** Closes a span, and returns the milliseconds that have to be added to what is stored. */
  leave(run: string): number {
    const spans = this.#runs.get(run);
    if (!spans) return 0;
    const now = this.#clock.monotonic();
    spans.open -= 1;
    const worked = Math.max(0, now - spans.since);
    // With other spans open the time so far is handed over, and theirs goes on from here.
    spans.since = now;
    if (spans.open === 0) this.#runs.delete(run);
    return worked;
  }
}
