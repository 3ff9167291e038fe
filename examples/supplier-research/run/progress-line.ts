import type { LonghaulEvent } from "@longhaul/core";

/** Where progress is shown: a stream of a process, or nothing at all. */
export interface ProgressOutput {
  readonly isTTY?: boolean | undefined;
  /** Width of the terminal. @default 80 */
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Swallows progress, for runs side by side. */
export const NO_OUTPUT: ProgressOutput = { write: () => true };

const BAR = 30;

/** Two lines at the foot of a terminal that show how the agent is doing; plain lines every 25 steps where there is none. */
export class ProgressLine {
  readonly #out: ProgressOutput;
  readonly #expected: number;
  #step = 0;
  #status = "RUNNING";
  #layers = "";
  #budget = 0;
  #folds = 0;
  #resets = 0;
  #printed = 0;
  #isShown = false;

  constructor(expectedSteps: number, out: ProgressOutput = process.stderr) {
    this.#expected = expectedSteps;
    this.#out = out;
  }

  see(event: LonghaulEvent): void {
    if (event.step !== undefined) this.#step = Math.max(this.#step, event.step);
    if (event.type === "context.built") {
      const { system, task, memory, working } = event;
      this.#layers = `system ${short(system)} task ${short(task)} memory ${short(memory)} work ${short(working)}`;
    } else if (event.type === "budget.step") this.#budget = Math.round(event.share * 100);
    else if (event.type === "fold.done") this.#folds++;
    else if (event.type === "reset.applied") this.#resets++;
    else if (event.type === "run.moved") this.#status = event.to;
    this.#draw();
  }

  /** A line that stays, such as a kill. */
  note(text: string): void {
    this.end();
    this.#out.write(`  ${text}\n`);
  }

  /** Takes the bar off the terminal. */
  end(): void {
    if (this.#isShown) this.#out.write("\r\x1b[2K\x1b[1A\x1b[2K");
    this.#isShown = false;
  }

  #draw(): void {
    const counts = `folds ${this.#folds} resets ${this.#resets} · budget ${this.#budget} %`;
    if (this.#out.isTTY) {
      const filled = Math.min(BAR, Math.floor((this.#step / this.#expected) * BAR));
      const bar = `${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
      this.end();
      this.#out.write(
        `${this.#cut(`${bar} ${this.#step} ${this.#status}`)}\n${this.#cut(`${this.#layers} · ${counts}`)}`,
      );
      this.#isShown = true;
    } else if (this.#step >= this.#printed + 25) {
      this.#printed = this.#step;
      this.#out.write(`  step ${this.#step} ${this.#status} · ${this.#layers} · ${counts}\n`);
    }
  }

  /** A line that wraps could not be taken back. */
  #cut(line: string): string {
    return line.slice(0, (this.#out.columns || 80) - 1);
  }
}

function short(tokens: number): string {
  return tokens < 1_000 ? String(Math.round(tokens)) : `${(tokens / 1_000).toFixed(1)}k`;
}
