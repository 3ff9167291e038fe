import type { DemoOutcome, SideOutcome } from "./demo-run.ts";

/** The report on the terminal. */
export function renderReport(outcome: DemoOutcome): string {
  const { options, longhaul, baseline, answer, effects } = outcome;
  const rows: [string, string][] = [
    ["answer", answer.right ? `right: ${answer.reason}` : `WRONG: ${answer.reason}`],
    [
      "ended",
      [longhaul.end.status, longhaul.end.stopReason, longhaul.end.failure].filter(Boolean).join(", "),
    ],
    [
      "steps",
      `${longhaul.end.steps}, of them made again after a kill: ${outcome.repeatedSteps}; resets ${longhaul.end.resets}`,
    ],
    [
      "kills",
      `${outcome.kills.length} survived${outcome.kills.length ? `: ${outcome.kills.join(", ")}` : ""}`,
    ],
  ];
  for (const tool of new Set(effects.byBusiness.map((count) => count.tool))) {
    const of = effects.byBusiness.filter((count) => count.tool === tool);
    const sum = (key: "asked" | "done") => of.reduce((total, count) => total + count[key], 0);
    rows.push([tool, `${of.length} wanted, ${sum("asked")} asked, ${sum("done")} done`]);
  }
  rows.push([
    "side effects",
    outcome.effectFaults.length === 0 ? "each once, none missing" : outcome.effectFaults.join("; "),
  ]);
  rows.push(...compare(longhaul, baseline));
  const title = `Supplier research · seed ${options.seed} · ${options.graph ? "StateGraph" : "createAgent"}`;
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    "",
    title,
    "─".repeat(title.length),
    ...rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`),
    ...footer(outcome),
  ].join("\n");
}

function compare(longhaul: SideOutcome, baseline: SideOutcome | undefined): [string, string][] {
  const { costs } = longhaul;
  if (!baseline) {
    return [
      [
        "prompt tokens",
        `${count(costs.raw)} raw, ${count(costs.cachePriced)} cache-priced, ${costs.calls} calls`,
      ],
      ["database", bytes(longhaul.databaseBytes)],
      ["time", `${longhaul.seconds.toFixed(0)} s`],
    ];
  }
  const against = (mine: number, other: number, show: (n: number) => string) =>
    `${show(mine)}, full history ${show(other)}: ${ratio(mine, other)}`;
  return [
    [
      "full history",
      `${baseline.end.status}, ${baseline.end.steps} steps${baseline.end.failure ? `, ${baseline.end.failure.slice(0, 160)}` : ""}`,
    ],
    ["prompt tokens raw", against(costs.raw, baseline.costs.raw, count)],
    ["  cache-priced", against(costs.cachePriced, baseline.costs.cachePriced, count)],
    [
      "database",
      `${bytes(longhaul.databaseBytes)}, SqliteSaver ${bytes(baseline.databaseBytes)}: ${ratio(longhaul.databaseBytes, baseline.databaseBytes)}`,
    ],
    ["time", `${longhaul.seconds.toFixed(0)} s, full history ${baseline.seconds.toFixed(0)} s`],
  ];
}

function footer({ folder, paused }: DemoOutcome): string[] {
  if (!folder) return [];
  if (paused) return ["", `Paused, nothing is lost. Go on with: npm run demo -- --resume ${folder}`];
  return [
    "",
    `Kept in ${folder}: longhaul.db (checkpoints, ledgers, artifacts), world.db (what the tools did).`,
    `Look at it: npm run longhaul -- threads ${folder}/longhaul.db`,
  ];
}

function ratio(mine: number, other: number): string {
  if (mine === 0 || other === 0) return "–";
  return mine <= other ? `1/${(other / mine).toFixed(1)}` : `${(mine / other).toFixed(2)} ×`;
}

function count(tokens: number): string {
  return tokens < 1e6 ? `${(tokens / 1e3).toFixed(0)}k` : `${(tokens / 1e6).toFixed(2)}M`;
}

function bytes(n: number): string {
  return n < 1e6 ? `${(n / 1e3).toFixed(0)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}
