import type { DemoOutcome, SideOutcome } from "@longhaul/examples/supplier-research/run/demo-outcome.ts";

interface Bar {
  readonly name: string;
  readonly of: (side: SideOutcome) => number;
  /** Largest share of the full-history run's figure. */
  readonly most: number;
}

const BARS: readonly Bar[] = [
  { name: "prompt tokens", of: ({ costs }) => costs.raw, most: 1 / 4 },
  { name: "cache-priced", of: ({ costs }) => costs.cachePriced, most: 1 },
  { name: "database", of: ({ databaseBytes }) => databaseBytes, most: 1 / 100 },
];

/** How a run compares with the full history of the same job, and whether every bar is met. */
export function compare({ longhaul, baseline }: Pick<DemoOutcome, "longhaul" | "baseline">): {
  readonly met: boolean;
  readonly facts: readonly string[];
} {
  if (baseline?.end.status !== "COMPLETED") {
    return { met: false, facts: [`full history ${baseline?.end.status ?? "missing"}`] };
  }
  const results = BARS.map(({ name, of, most }) => {
    const share = of(longhaul) / of(baseline);
    // NaN and 0 are no measurement.
    return { name, share, met: share > 0 && share <= most, most };
  });
  return {
    met: results.every(({ met }) => met),
    facts: results.map(
      ({ name, share, met, most }) =>
        `${name} 1/${(1 / share).toFixed(1)}${met ? "" : ` MISSES 1/${(1 / most).toFixed(0)}`}`,
    ),
  };
}
