import type { DetectedLoop } from "./detect-loops.ts";
import type { LoopRung, LoopState, RaisedRung } from "./loop-state.ts";

const RUNGS: readonly LoopRung[] = ["hint", "block", "stop"];

export interface Climb {
  readonly rungs: LoopState["rungs"];
  /** The highest rung that was raised now, and the loop that raised it. */
  readonly raised?: { readonly rung: LoopRung; readonly loop: DetectedLoop };
}

/**
 * Moves each loop up its ladder: one rung at most for each agent step, so that the model has read the hint before a call is
 * blocked or the run stopped; each rung once. A loop that was left for more than a step begins at the bottom again.
 */
export function climbLadder(state: LoopState, loops: readonly DetectedLoop[]): Climb {
  const rungs: Record<string, RaisedRung> = {};
  for (const [id, rung] of Object.entries(state.rungs)) {
    if (state.steps - rung.last <= 1) rungs[id] = rung;
  }
  let raised: Climb["raised"];
  for (const loop of loops) {
    const before = rungs[loop.id];
    const next = nextRung(loop, before, state.steps);
    rungs[loop.id] = {
      rung: next ?? before?.rung ?? "hint",
      step: next ? state.steps : (before?.step ?? state.steps),
      last: state.steps,
      actions: [...new Set(loop.round.map((it) => it.action))],
    };
    if (next && (!raised || RUNGS.indexOf(next) > RUNGS.indexOf(raised.rung))) raised = { rung: next, loop };
  }
  // a hint about one thing would only blur a block or a stop that stands for another
  const highest = Math.max(-1, ...loops.map((loop) => RUNGS.indexOf(rungs[loop.id]!.rung)));
  return raised && RUNGS.indexOf(raised.rung) >= highest ? { rungs, raised } : { rungs };
}

function nextRung(loop: DetectedLoop, before: RaisedRung | undefined, step: number): LoopRung | undefined {
  if (before && before.step >= step) return undefined;
  const from = before ? RUNGS.indexOf(before.rung) + 1 : 0;
  return RUNGS.slice(from).find(
    (rung) => Number.isFinite(loop.ladder[rung]) && loop.count >= loop.ladder[rung],
  );
}
