import { ScriptedServer, ToolWorld } from "@longhaul/test-kit";
import { randomOf } from "../saver/words.ts";
import type { Death } from "./death.ts";
import { judge } from "./judge.ts";
import { Lives } from "./lives.ts";
import { callsOfStep, script, wordsOf } from "./script.ts";
import { newPlace, removePlace, type Storage } from "./stores.ts";

export interface RandomReport {
  readonly runs: number;
  readonly kills: number;
  readonly effects: number;
  readonly unknown: number;
  readonly wrong: readonly string[];
}

/** Writes of a run of 60 steps, about: kills are spread over them. */
const WRITES_PER_STEP = 8;
/** Milliseconds that a step takes, about. */
const MS_PER_STEP = 25;

/**
 * Runs of many steps in all modes, each killed so many times: from outside at a random moment, or by itself before or behind a random
 * write. The same seed plans the same deaths.
 */
export async function runRandomKills(given: {
  readonly storage: Storage;
  readonly runs: number;
  readonly steps: number;
  readonly killsPerRun: number;
  readonly seed: number;
  readonly onRun?: ((n: number, kills: number) => void) | undefined;
}): Promise<RandomReport> {
  const { storage, runs, steps, killsPerRun, seed, onRun } = given;
  const server = await ScriptedServer.start({ script });
  const place = newPlace(storage);
  const lives = new Lives();
  const world = ToolWorld.open(place.world);
  const next = randomOf(seed);
  const wanted = Array.from({ length: steps }, (_, step) =>
    callsOfStep(step).flatMap(([tool, order]) => (tool === "read" ? [] : [{ tool, order }])),
  ).flat();
  const wrong: string[] = [];
  let [kills, unknown] = [0, 0];
  try {
    for (let run = 0; run < runs; run++) {
      const thread = `run-${run}`;
      // what is left of the run is not known: a planned death that comes too late for it is planned again, nearer
      const share = steps / (killsPerRun + 1);
      const plan = (life: number): { death: Death; killAfterMs?: number } => {
        if (life >= killsPerRun) return { death: { at: "never" } };
        if (next() % 2 === 0)
          return { death: { at: "never" }, killAfterMs: 1 + (next() % Math.ceil(2 * share * MS_PER_STEP)) };
        const nth = 1 + (next() % Math.ceil(2 * share * WRITES_PER_STEP));
        return { death: { at: "write", nth, behind: next() % 2 === 0 } };
      };
      const { fate, kills: died } = await lives.run(
        {
          place,
          thread,
          url: server.url,
          form: "agent",
          words: wordsOf({ kind: "steps", steps }),
          durability: "sync",
          guarded: true,
          asks: false,
          concurrency: 4,
        },
        plan,
        killsPerRun,
      );
      kills += died;
      if (fate.kind === "ended") {
        const verdict = judge(wanted, fate.ending.messages, world.effects().byBusiness, thread);
        unknown += verdict.unknown;
        wrong.push(...verdict.wrong.map((text) => `${storage} run ${run} (seed ${seed}): ${text}`));
        if (fate.ending.status !== "COMPLETED")
          wrong.push(
            `${storage} run ${run}: ${fate.ending.status} ${fate.ending.stopReason} ${fate.ending.failure}`,
          );
      } else wrong.push(`${storage} run ${run}: ${fate.kind === "failed" ? fate.why : "killed"}`);
      onRun?.(run, died);
    }
    return { runs, kills, effects: world.effects().done, unknown, wrong };
  } finally {
    lives.close();
    world.close();
    await server.close();
    await removePlace(place);
  }
}
