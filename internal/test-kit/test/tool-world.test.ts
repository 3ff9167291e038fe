import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EffectRequest, KeyConflictError, ToolWorld } from "@longhaul/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";

let folder = "";
let world: ToolWorld;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "world-"));
  world = ToolWorld.open(join(folder, "world.db"));
});
afterEach(() => {
  world.close();
  rmSync(folder, { recursive: true });
});

const charge = (fields: Partial<EffectRequest> = {}) =>
  world.perform({
    tool: "charge",
    business: "order-7",
    payload: { amount: 1 },
    result: (n) => `receipt-${n}`,
    ...fields,
  });

it("does a keyed effect once, and refuses the key with another payload", () => {
  expect(charge({ key: "k" })).toEqual({ result: "receipt-1", deduplicated: false });
  expect(charge({ key: "k" })).toEqual({ result: "receipt-1", deduplicated: true });
  expect(() => charge({ key: "k", payload: { amount: 2 } })).toThrow(KeyConflictError);
  expect(charge({ key: "k", tool: "refund" })).toEqual({ result: "receipt-1", deduplicated: false });
  expect(world.effects()).toMatchObject({ done: 2, duplicates: 0 });
});

it("does an effect without key each time, and counts what was one too many", () => {
  charge();
  charge();
  charge({ business: "order-8" });
  expect(world.effects()).toEqual({
    asked: 3,
    done: 3,
    duplicates: 1,
    byBusiness: [
      { tool: "charge", business: "order-7", asked: 2, done: 2 },
      { tool: "charge", business: "order-8", asked: 1, done: 1 },
    ],
  });
  expect(world.results("charge")).toEqual(["receipt-1", "receipt-2", "receipt-3"]);
});

it("can be asked what was done, also by another process's connection", () => {
  charge();
  const other = ToolWorld.open(join(folder, "world.db"));
  expect(other.find("charge", "order-7")).toBe("receipt-1");
  expect(other.find("charge", "order-9")).toBeUndefined();
  other.close();
});
