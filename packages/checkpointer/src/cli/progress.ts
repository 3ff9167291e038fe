import type { CliIo } from "./io.ts";

/** Milliseconds between two lines where there is no terminal. */
const LINE_EVERY = 5_000;
/** Milliseconds between two pictures of the line on a terminal. */
const PAINT_EVERY = 100;

/** How far long work is: one line that changes on a terminal, a plain line now and then elsewhere. On the error stream, so results stay clean. */
export class Progress {
  readonly #io: CliIo;
  #last: number;
  #painted = false;

  constructor(io: CliIo) {
    this.#io = io;
    this.#last = io.now();
  }

  update(text: string): void {
    const now = this.#io.now();
    if (now - this.#last < (this.#io.isTerminal ? PAINT_EVERY : LINE_EVERY)) return;
    this.#last = now;
    if (!this.#io.isTerminal) this.#io.error(text);
    else {
      this.#io.raw(`\r\u001b[2K${text.slice(0, this.#io.width - 1)}`);
      this.#painted = true;
    }
  }

  /** Takes the line away. */
  end(): void {
    if (this.#painted) this.#io.raw("\r\u001b[2K");
    this.#painted = false;
  }
}
