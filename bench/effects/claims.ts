import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chargesIn } from "./charge.ts";
import { newPlace, type Place, removePlace, type Storage } from "./places.ts";

const CHILD = fileURLToPath(new URL("./claims-child.ts", import.meta.url));

export interface ClaimsRun {
  readonly storage: Storage;
  readonly processes: number;
  /** Of each process, at once. */
  readonly callers: number;
  /** Keys claimed one after the other, each by all callers. */
  readonly keys: number;
  /** False for the control. */
  readonly guarded: boolean;
}

export interface ClaimsReport extends ClaimsRun {
  readonly effects: number;
  /** The most effects that one key had. */
  readonly most: number;
  /** From the word to go until all callers have their answer, one number a key. */
  readonly ms: readonly number[];
  readonly wrong: readonly string[];
}

/** Callers in several processes that want the same effect at the same time. */
export async function claimTogether(run: ClaimsRun): Promise<ClaimsReport> {
  const place = newPlace(run.storage);
  const wrong: string[] = [];
  const ms: number[] = [];
  const children: Child[] = [];
  try {
    for (let i = 0; i < run.processes; i++) children.push(startChild(place, run));
    for (const child of children) await child.line();
    for (let n = 0; n < run.keys; n++) {
      const start = performance.now();
      for (const child of children) child.say(`O-${n}`);
      const lines = await Promise.all(children.map((child) => child.line()));
      ms.push(performance.now() - start);
      const answers = new Set(lines.flatMap((line) => JSON.parse(line) as string[]));
      if (run.guarded && answers.size !== 1)
        wrong.push(`O-${n} had ${answers.size} answers: ${[...answers]}`);
      for (const answer of answers)
        if (!answer.includes(`charged O-${n} by `)) wrong.push(`O-${n} was answered by ${answer}`);
    }
    const charges = chargesIn(place.world);
    for (let n = 0; n < run.keys; n++) {
      const count = charges.get(`O-${n}`) ?? 0;
      const due = run.guarded ? 1 : run.processes * run.callers;
      if (count !== due) wrong.push(`O-${n} was charged ${count} times, not ${due}`);
    }
    const counts = [...charges.values()];
    return { ...run, effects: counts.reduce((a, b) => a + b, 0), most: Math.max(0, ...counts), ms, wrong };
  } finally {
    await Promise.all(children.map((child) => child.end()));
    await removePlace(place);
  }
}

interface Child {
  /** The next line it prints. @throws Error when it ends instead */
  line(): Promise<string>;
  say(text: string): void;
  end(): Promise<void>;
}

function startChild(place: Place, { callers, guarded }: ClaimsRun): Child {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", CHILD, JSON.stringify(place), String(callers), String(guarded)],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async line() {
      const { done, value } = await lines.next();
      if (done) throw new Error(`a process of the bench ended with ${child.exitCode ?? child.signalCode}`);
      return value;
    },
    say: (text) => void child.stdin.write(`${text}\n`),
    end() {
      child.stdin.end();
      return ended;
    },
  };
}
