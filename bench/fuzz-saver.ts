/**
 * Changes what CompactSaver stored, in rows, journals and pages, and looks for a wrong value or an error that does not say where.
 * `npx tsx bench/fuzz-saver.ts --help`. Exit code 1 if one is found.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fuzz, LAYERS, type Layer } from "./fuzz-saver/fuzz.ts";

const USAGE = `npx tsx bench/fuzz-saver.ts [options]
  --mutations N    in all (default 10000): three fifths of rows, one fifth each of journals and of SQLite's pages
  --layer NAMES    some of ${LAYERS.join(",")} (default all)
  --seed N         (default 1)
  --record         write bench/results/saver-fuzz.txt`;

const { values } = parseArgs({
  options: {
    mutations: { type: "string", default: "10000" },
    layer: { type: "string", default: LAYERS.join(",") },
    seed: { type: "string", default: "1" },
    record: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const mutations = Number(values.mutations);
const names = values.layer.split(",");
if (values.help || !Number.isSafeInteger(mutations) || mutations < 5 || !names.every(isLayer)) {
  console.log(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else process.exitCode = await main(names.filter(isLayer));

async function main(layers: readonly Layer[]): Promise<number> {
  const lines: string[] = [];
  const print = (text: string) => {
    console.log(text);
    lines.push(text);
  };
  let wrong = 0;
  for (const layer of layers) {
    const count = Math.floor((mutations * (layer === "rows" ? 3 : 1)) / 5);
    const report = await fuzz(layer, count, Number(values.seed));
    print(
      `${layer}: ${report.mutations} mutations, ${report.refused} refused by a read, ${report.verified} found by verify, ${report.wrong.length} things wrong`,
    );
    for (const text of report.wrong.slice(0, 30)) print(`  WRONG ${text}`);
    wrong += report.wrong.length;
  }
  if (values.record)
    writeFileSync(
      fileURLToPath(new URL("./results/saver-fuzz.txt", import.meta.url)),
      `npx tsx bench/fuzz-saver.ts ${process.argv.slice(2).join(" ")}\n\n${lines.join("\n")}\n`,
    );
  return wrong === 0 ? 0 : 1;
}

function isLayer(name: string): name is Layer {
  return (LAYERS as readonly string[]).includes(name);
}
