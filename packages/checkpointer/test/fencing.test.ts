import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { FencedWriterError } from "@longhaul/checkpointer";
import { classifyError } from "@longhaul/core";
import { expect, it } from "vitest";
import { open, tempFile } from "./temp.ts";

it.each(["memory", "sqlite"])(
  "C7: puts and writes of a worker whose lease went to another are refused, on %s",
  async (kind) => {
    const saver = open(kind === "sqlite" ? tempFile() : ":memory:");
    const lease = await saver.leases.acquire("t", 60_000);
    const under = (token: number, id?: string) => ({
      configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: id, longhaul_lease: { token } },
    });
    const checkpoint = (id: string) => ({ ...emptyCheckpoint(), id });
    const meta = { source: "loop", step: 1, parents: {} } as const;
    await saver.put(under(lease.token), checkpoint("c1"), meta, {});
    await saver.leases.release(lease);
    const next = await saver.leases.acquire("t", 60_000);
    const late: unknown = await saver
      .put(under(lease.token, "c1"), checkpoint("c2"), meta, {})
      .catch((error: unknown) => error);
    expect(late).toBeInstanceOf(FencedWriterError);
    expect(classifyError(late)).toBe("fatal");
    await expect(saver.putWrites(under(lease.token, "c1"), [["a", 1]], "task")).rejects.toBeInstanceOf(
      FencedWriterError,
    );
    const newest = await saver.getTuple({ configurable: { thread_id: "t" } });
    expect([newest?.checkpoint.id, newest?.pendingWrites]).toEqual(["c1", []]);
    await saver.put(under(next.token, "c1"), checkpoint("c3"), meta, {});
    expect((await saver.get({ configurable: { thread_id: "t" } }))?.id).toBe("c3");
  },
);
