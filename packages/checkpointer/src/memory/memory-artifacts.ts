import type { ArtifactRow, ArtifactTable, Row } from "../driver/driver.ts";
import { copyOf } from "./bytes.ts";

/** Artifacts in Maps, in the order of storing. Synchronous; what comes in and goes out is copied. */
export class MemoryArtifacts {
  readonly #threads = new Map<string, Map<string, ArtifactRow>>();

  put(threadId: string, row: ArtifactRow): boolean {
    const rows = this.#threads.get(threadId) ?? new Map<string, ArtifactRow>();
    this.#threads.set(threadId, rows);
    if (rows.has(row.ref)) return false;
    rows.set(row.ref, copyRow(row));
    return true;
  }

  get(threadId: string, ref: string): ArtifactRow | undefined {
    const row = this.#threads.get(threadId)?.get(ref);
    return row && copyRow(row);
  }

  list(threadId: string): Omit<ArtifactRow, "data">[] {
    return [...(this.#threads.get(threadId)?.values() ?? [])].map(({ ref, chars, meta }) => ({
      ref,
      chars,
      meta: copyOf(meta),
    }));
  }

  forgetThread(threadId: string): void {
    this.#threads.delete(threadId);
  }

  rows(wanted: string | undefined): Row[] {
    return [...this.#threads]
      .filter(([threadId]) => wanted === undefined || threadId === wanted)
      .flatMap(([threadId, rows]) =>
        [...rows.values()].map((row) => ({ kind: "artifact" as const, threadId, ...copyRow(row) })),
      );
  }
}

/** The port over artifacts in memory; `open` throws when the driver is closed. */
export function artifactTable(artifacts: MemoryArtifacts, open: () => void): ArtifactTable {
  return {
    async put(threadId, row) {
      open();
      return artifacts.put(threadId, row);
    },
    async get(threadId, ref) {
      open();
      return artifacts.get(threadId, ref);
    },
    async *list(threadId) {
      open();
      yield* artifacts.list(threadId);
    },
  };
}

function copyRow({ ref, chars, meta, data }: ArtifactRow): ArtifactRow {
  return { ref, chars, meta: copyOf(meta), data: copyOf(data) };
}
