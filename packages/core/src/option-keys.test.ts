import { expect, it } from "vitest";
import { resolveBudgetOptions } from "./budget/budget-options.ts";
import { resolveEffectOptions } from "./effects/effect-options.ts";
import { InvalidOptionsError } from "./errors.ts";
import { checkOptionSections } from "./option-keys.ts";
import { resolveSuperviseOptions } from "./recovery/supervise-options.ts";
import { resolveToolOptions } from "./tools/tool-options.ts";

const invalid = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return InvalidOptionsError.isInstance(error);
  }
  return false;
};

it.each([
  [{ context: { wndow: 5 } }],
  [{ context: true }],
  [{ progress: { maxChars: 5 } }],
  [{ loops: null }],
  [{ effects: { lease: 5 } }],
  [{ toolGuard: [] }],
  [{ budget: { limits: { tokns: 5 } } }],
  [{ budget: { limits: 5 } }],
  [{ budget: null }],
])("refuses sections %j", (sections) => {
  expect(invalid(() => checkOptionSections(sections as never))).toBe(true);
});

it.each([[5], [null], [[]], [{ act: null }], [{ act: { efect: "none" } }], [{ act: "none" }]])(
  "refuses tools %j",
  (tools) => {
    expect(invalid(() => resolveToolOptions(tools as never))).toBe(true);
  },
);

it.each([
  [{ caps: 5 }],
  [{ caps: { steps: 1 } }],
  [{ backoff: [1] }],
  [{ references: 5 }],
  [{ signal: 5 }],
  [{ x: 1 }],
])("refuses supervision %j", (options) => {
  expect(invalid(() => resolveSuperviseOptions(options as never))).toBe(true);
});

it("refuses other wrong values, and takes what is left out", () => {
  expect(invalid(() => resolveEffectOptions({ scope: 5 } as never))).toBe(true);
  expect(invalid(() => resolveBudgetOptions({ phases: 5 } as never))).toBe(true);
  checkOptionSections({ context: false, budget: {}, loops: undefined });
  resolveToolOptions({ act: undefined } as never);
  resolveSuperviseOptions({});
});
