import type { LonghaulEvent } from "@longhaul/core";

/** One line on the terminal that shows how the agent is doing; plain lines every 25 steps where there is no terminal. */
export class ProgressLine {
  readonly #out: NodeJS.WriteStream;
  readonly #expected: number;
  #step = 0;
  #status = "RUNNING";
  #layers = "";
  #budget = "";
  #folds = 0;
  #resets = 0;
  #printed = 0;

  constructor(expectedSteps: number, out: NodeJS.WriteStream = process.stderr) {
    this.#expected = expectedSteps;
    this.#out = out;
  }

  see(event: LonghaulEvent): void {
    if (event.step !== undefined) this.#step = Math.max(this.#step, event.step);
    if (event.type === "context.built") {
      const { system, task, memory, working } = event;
      this.#layers = `system ${short(system)} task ${short(task)} memory ${short(memory)} work ${short(working)}`;
    } else if (event.type === "budget.step") this.#budget = `budget ${Math.round(event.share * 100)} %`;
    else if (event.type === "fold.done") this.#folds++;
    else if (event.type === "reset.applied") this.#resets++;
    else if (event.type === "run.moved") this.#status = event.to;
    this.#draw();
  }

  /** A line that stays, such as a kill. */
  note(text: string): void {
    this.#clear();
    this.#out.write(`  ${text}\n`);
  }

  end(): void {
    this.#clear();
  }

  #draw(): void {
    const text = `step ${this.#step} ${this.#status} · ${this.#layers} · folds ${this.#folds} resets ${this.#resets} · ${this.#budget}`;
    if (this.#out.isTTY) {
      const filled = Math.min(20, Math.floor((this.#step / this.#expected) * 20));
      const bar = `${"█".repeat(filled)}${"░".repeat(20 - filled)}`;
      this.#out.write(`\r\x1b[2K${`${bar} ${text}`.slice(0, (this.#out.columns || 80) - 1)}`);
    } else if (this.#step >= this.#printed + 25) {
      this.#printed = this.#step;
      this.#out.write(`  ${text}\n`);
    }
  }

  #clear(): void {
    if (this.#out.isTTY) this.#out.write("\r\x1b[2K");
  }
}

function short(tokens: number): string {
  return tokens < 1_000 ? String(Math.round(tokens)) : `${(tokens / 1_000).toFixed(1)}k`;
}
