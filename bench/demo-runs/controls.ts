import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runFullHistory } from "@longhaul/examples/supplier-research/run/full-history.ts";
import { killsOf } from "./bench-options.ts";
import { runOnce } from "./one-run.ts";

/** A run in which something is left out, so that it must fail in a known way. */
export interface Control {
  readonly name: string;
  run(stop: AbortSignal): Promise<ControlVerdict>;
}

interface ControlVerdict {
  /** It failed as it should. */
  readonly failed: boolean;
  readonly detail: string;
}

const SMALL_WINDOW = 32_000;

/** The controls for a bench of these seeds. The ledger is left out on several, since its kills differ; the rest on the first. */
export function controlsOf(seeds: readonly number[]): readonly Control[] {
  const first = seeds[0] ?? 1;
  return [
    ...seeds.slice(0, Math.min(5, Math.ceil(seeds.length / 2))).map(withoutLedger),
    withoutSupervisor(first),
    withoutMemory(first),
    fullHistoryInSmallWindow(first),
  ];
}

function withoutLedger(seed: number): Control {
  return {
    name: `seed ${seed}, no ledger: side effects twice`,
    async run(stop) {
      const { ok, effects, effectFaults } = await runOnce(
        { seed, kills: killsOf(seed), without: ["ledger"] },
        stop,
      );
      return { failed: !ok && effects.duplicates > 0, detail: effectFaults.join("; ") || "no duplicate" };
    },
  };
}

function withoutSupervisor(seed: number): Control {
  return {
    name: `seed ${seed}, no supervisor: no end`,
    async run(stop) {
      const { ok, longhaul, answer } = await runOnce({ seed, kills: 3, without: ["supervisor"] }, stop);
      return {
        failed: !ok && longhaul.end.status !== "COMPLETED" && !answer.right,
        detail: `${longhaul.end.status}, ${answer.reason}`,
      };
    },
  };
}

function withoutMemory(seed: number): Control {
  return {
    name: `seed ${seed}, no memory layer and no recall: no right answer`,
    async run(stop) {
      const { answer, longhaul } = await runOnce({ seed, kills: 0, without: ["memory"] }, stop);
      const { status, stopReason, failure } = longhaul.end;
      // A request that a provider refuses would be another failure than the one looked for.
      const isRefused = /invalid_request|strict_rule/.test(failure ?? "");
      return {
        failed: !answer.right && !isRefused,
        detail: `${answer.reason}; ${[status, stopReason, failure].filter(Boolean).join(", ")}`,
      };
    },
  };
}

function fullHistoryInSmallWindow(seed: number): Control {
  return {
    name: `seed ${seed}, full history in a window of ${SMALL_WINDOW}: context error`,
    async run(stop) {
      const folder = mkdtempSync(join(tmpdir(), "longhaul-control-"));
      try {
        const { end } = await runFullHistory({ seed, window: SMALL_WINDOW, folder, stop });
        const detail = `${end.status} after ${end.steps} steps, ${end.failure?.split(". ")[0] ?? "no failure"}`;
        return {
          failed: end.status === "FAILED" && /maximum context length/.test(end.failure ?? ""),
          detail,
        };
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}
