import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Ending, Life } from "./child.ts";
import type { Death } from "./death.ts";

/** A life that neither ends nor dies as planned is a fault. */
const LONGEST_MS = 60_000;

/** What became of one life. */
export type Fate =
  | { readonly kind: "ended"; readonly ending: Ending }
  | { readonly kind: "killed" }
  | { readonly kind: "failed"; readonly why: string };

/** Child processes that lead lives, the next one loading while the present one works. A child that ends its life well leads the next. */
export class Lives {
  #present: Child | undefined;
  #spare: Child | undefined = new Child();

  /** @param killAfterMs kills it from outside, counted from when it begins to work */
  async lead(life: Life, killAfterMs?: number): Promise<Fate> {
    const child = this.#present ?? this.#spare ?? new Child();
    if (child === this.#spare) this.#spare = undefined;
    this.#present = undefined;
    this.#spare ??= new Child();
    const fate = await child.lead(life, killAfterMs);
    if (fate.kind === "ended") this.#present = child;
    return fate;
  }

  /** One life after another until the run ends. @returns how it ended and how many lives were cut off */
  async run(
    life: Omit<Life, "death">,
    deaths: (nth: number) => { readonly death: Death; readonly killAfterMs?: number | undefined },
    atMost: number,
  ): Promise<{ readonly fate: Fate; readonly kills: number }> {
    for (let kills = 0; ; kills++) {
      const { death, killAfterMs } = deaths(kills);
      const fate = await this.lead({ ...life, death }, killAfterMs);
      if (fate.kind !== "killed") return { fate, kills };
      if (kills >= atMost) return { fate: { kind: "failed", why: `no end after ${kills} kills` }, kills };
    }
  }

  close(): void {
    this.#present?.kill();
    this.#spare?.kill();
  }
}

type Message = "loaded" | "ready" | { readonly ending?: Ending; readonly error?: string };

class Child {
  readonly #process: ChildProcess;
  readonly #exit: Promise<readonly [number | null, string | null]>;
  readonly #loaded: Promise<unknown>;
  #errors = "";

  constructor() {
    this.#process = fork(fileURLToPath(new URL("./child.ts", import.meta.url)), [], {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#process.stderr?.on("data", (data) => {
      this.#errors = (this.#errors + String(data)).slice(-4_000);
    });
    this.#exit = once(this.#process, "exit") as Promise<[number | null, string | null]>;
    this.#loaded = once(this.#process, "message");
  }

  async lead(life: Life, killAfterMs: number | undefined): Promise<Fate> {
    await Promise.race([this.#loaded, this.#exit]);
    const timers: NodeJS.Timeout[] = [];
    let isLate = false;
    const answer = new Promise<Message>((resolve) => {
      this.#process.on("message", (message: Message) => {
        if (message === "ready" && killAfterMs !== undefined)
          timers.push(setTimeout(() => this.kill(), killAfterMs));
        if (typeof message === "object") resolve(message);
      });
    });
    timers.push(
      setTimeout(() => {
        isLate = true;
        this.kill();
      }, LONGEST_MS),
    );
    if (this.#process.connected) this.#process.send(life);
    const first = await Promise.race([answer, this.#exit]);
    for (const timer of timers) clearTimeout(timer);
    this.#process.removeAllListeners("message");
    if (isLate) return { kind: "failed", why: `it did not end within ${LONGEST_MS} ms: ${this.#errors}` };
    if (Array.isArray(first)) {
      const [code, signal] = first as readonly [number | null, string | null];
      return signal === "SIGKILL"
        ? { kind: "killed" }
        : { kind: "failed", why: `code ${code}: ${this.#errors}` };
    }
    const { ending, error } = first as { ending?: Ending; error?: string };
    return ending ? { kind: "ended", ending } : { kind: "failed", why: error ?? "no word" };
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}
