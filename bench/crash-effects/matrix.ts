import { ScriptedServer, ToolWorld } from "@longhaul/test-kit";
import { type Cell, nameOf, ordersOf } from "./cells.ts";
import type { Death } from "./death.ts";
import { judge, type Verdict } from "./judge.ts";
import { Lives } from "./lives.ts";
import { script, wordsOf } from "./script.ts";
import { newPlace, removePlace, type Storage } from "./stores.ts";

/** What became of one cell. */
export interface CellResult extends Verdict {
  readonly cell: Cell;
  readonly storage: Storage;
  readonly kills: number;
}

/**
 * Lives each cell: the run is killed at the cell's point, and taken up again with the same input until it ends.
 *
 * @param guarded false: the control, without a ledger. There are no points between steps of an effect then; it dies behind the effect itself
 */
export async function runMatrix(given: {
  readonly cells: readonly Cell[];
  readonly storage: Storage;
  readonly guarded: boolean;
  readonly onCell?: ((result: CellResult) => void) | undefined;
}): Promise<CellResult[]> {
  const { cells, storage, guarded, onCell } = given;
  const server = await ScriptedServer.start({ script });
  const place = newPlace(storage);
  const lives = new Lives();
  const world = ToolWorld.open(place.world);
  const results: CellResult[] = [];
  try {
    for (const [n, cell] of cells.entries()) {
      const { mode, shape, durability, point, nth } = cell;
      const death: Death = guarded ? { at: "point", point, tool: mode, nth } : { at: "effect", nth: 1 };
      const thread = `cell-${n}`;
      const { fate, kills } = await lives.run(
        {
          place,
          thread,
          url: server.url,
          form: "agent",
          words: wordsOf({ kind: "calls", mode, shape }),
          durability,
          guarded,
          asks: shape === "interrupt",
          concurrency: 4,
        },
        (life) => ({ death: life === 0 ? death : { at: "never" } }),
        1,
      );
      const wanted = ordersOf(shape).map((order) => ({ tool: mode, order }));
      const verdict =
        fate.kind === "ended"
          ? judge(wanted, fate.ending.messages, world.effects().byBusiness, thread)
          : { duplicates: 0, losses: 0, unknown: 0, wrong: [fate.kind === "failed" ? fate.why : fate.kind] };
      const ended = fate.kind === "ended" && fate.ending.status !== "COMPLETED" ? [fate.ending.status] : [];
      const result = { ...verdict, wrong: [...verdict.wrong, ...ended], cell, storage, kills };
      results.push(result);
      onCell?.(result);
    }
  } finally {
    lives.close();
    world.close();
    await server.close();
    await removePlace(place);
  }
  return results;
}

/**
 * What a guarded matrix must not show. An outcome may be unknown only where it is: of a `record` call that was claimed and
 * not recorded (K2, K3), or that ran beside the one that the process died at.
 */
export function violations(results: readonly CellResult[]): string[] {
  return results.flatMap(({ cell, storage, kills, wrong, unknown }) => {
    const said = wrong.map((text) => `${storage} ${nameOf(cell)}: ${text}`);
    const own = cell.point === "K2" || cell.point === "K3" ? 1 : 0;
    const mayBeUnknown = cell.mode === "record" ? own + ordersOf(cell.shape).length - 1 : 0;
    if (unknown > mayBeUnknown) said.push(`${storage} ${nameOf(cell)}: needlessly unknown`);
    if (kills === 0 && cell.durability !== "exit")
      said.push(`${storage} ${nameOf(cell)}: never came to its point`);
    return said;
  });
}
