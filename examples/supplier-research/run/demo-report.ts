import type { DemoOutcome, SideOutcome } from "./demo-outcome.ts";

type Row = readonly [name: string, text: string];

/** The report on the terminal. */
export function renderReport(outcome: DemoOutcome): string {
  const form = outcome.graph ? "StateGraph" : "createAgent";
  const title = `Supplier research · seed ${outcome.seed} · ${form}${outcome.paused ? " · paused" : ""}`;
  const rows = outcome.paused ? progressRows(outcome) : [...resultRows(outcome), ...costRows(outcome)];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    "",
    title,
    "─".repeat(title.length),
    ...rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`),
    ...footer(outcome),
  ].join("\n");
}

/** Of a paused run there is nothing to judge yet. */
function progressRows({ longhaul: { costs, seconds }, kills, plannedKills, tally }: DemoOutcome): Row[] {
  return [
    ["kills", `${kills.length} of ${plannedKills} so far`],
    ["side effects", tally.map(({ tool, done, wanted }) => `${tool} ${done} of ${wanted}`).join(", ")],
    ["so far", `${costs.calls} model calls, ${tokens(costs.raw)} prompt tokens, ${seconds.toFixed(0)} s`],
  ];
}

function resultRows(outcome: DemoOutcome): Row[] {
  const { answer, kills, plannedKills, effectFaults } = outcome;
  const { end } = outcome.longhaul;
  const missed = plannedKills - kills.length;
  return [
    ["answer", answer.right ? `right: ${answer.reason}` : `WRONG: ${answer.reason}`],
    ["ended", [end.status, end.stopReason, end.failure].filter(Boolean).join(", ")],
    [
      "steps",
      `${end.steps}, model turns repeated after a kill: ${outcome.repeatedTurns}; resets ${end.resets}`,
    ],
    [
      "kills",
      [
        `${kills.length} survived${kills.length ? `: ${kills.join(", ")}` : ""}`,
        ...(missed > 0 ? [`${missed} NOT REACHED`] : []),
      ].join("; "),
    ],
    ...outcome.tally.map(
      ({ tool, wanted, asked, done }): Row => [tool, `${wanted} wanted, ${asked} asked, ${done} done`],
    ),
    ["side effects", effectFaults.length === 0 ? "each once, none missing" : effectFaults.join("; ")],
  ];
}

function costRows({ longhaul, baseline }: DemoOutcome): Row[] {
  const { costs } = longhaul;
  if (!baseline) {
    return [
      [
        "prompt tokens",
        `${tokens(costs.raw)} raw, ${tokens(costs.cachePriced)} cache-priced, ${costs.calls} calls`,
      ],
      ["database", bytes(longhaul.databaseBytes)],
      ["time", `${longhaul.seconds.toFixed(0)} s`],
    ];
  }
  const against = (of: (side: SideOutcome) => number, show: (n: number) => string, other = "full history") =>
    `${show(of(longhaul))}, ${other} ${show(of(baseline))}: ${ratio(of(longhaul), of(baseline))}`;
  const { end } = baseline;
  const failure = end.failure ? `, ${end.failure.slice(0, 160)}` : "";
  return [
    ["full history", `${end.status}, ${end.steps} steps${failure}`],
    ["prompt tokens", against((side) => side.costs.raw, tokens)],
    ["cache-priced", against((side) => side.costs.cachePriced, tokens)],
    ["model calls", against((side) => side.costs.calls, String)],
    ["database", against((side) => side.databaseBytes, bytes, "SqliteSaver")],
    ["time", `${longhaul.seconds.toFixed(0)} s, full history ${baseline.seconds.toFixed(0)} s`],
  ];
}

function footer({ folder, paused }: DemoOutcome): string[] {
  if (!folder) return [];
  if (paused) return ["", `Nothing is lost. Go on with: npm run demo -- --resume ${folder}`];
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

function tokens(n: number): string {
  return n < 1e6 ? `${(n / 1e3).toFixed(0)}k` : `${(n / 1e6).toFixed(2)}M`;
}

function bytes(n: number): string {
  return n < 1e6 ? `${(n / 1e3).toFixed(0)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}
