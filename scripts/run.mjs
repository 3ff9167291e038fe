// Entry of every root script. Needs Node and npm only: brings the pinned pnpm, installs when something is missing, then runs
// the task. An installed workspace starts at once.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const [task = "help", ...rest] = process.argv.slice(2);

/** Steps of a task: [title, command, arguments]. Arguments after `--` go to the last step. */
const packages = ["core", "graph-nodes", "middleware", "checkpointer"];
const script = (file) => [process.execPath, [file]];
const node = (file) => [process.execPath, ["--import", "tsx", file]];
const bin = (name, ...args) => [process.execPath, [binOf(name), ...args]];
const tasks = {
  demo: () => [["demo", ...node("examples/supplier-research/demo.ts")]],
  pool: () => [["worker pool", ...node("examples/worker-pool/demo.ts")]],
  replay: () => [["replay", ...node("examples/replay/replay.ts")]],
  longhaul: () => [["longhaul", ...node("packages/checkpointer/src/cli/longhaul.ts")]],
  test: () => [["tests", ...bin("vitest", "run")]],
  check: () => [["format, lint, import arrows", ...bin("biome", "check", "--error-on-warnings", ".")]],
  types: () => [["types", ...bin("typescript:tsc", "-p", ".")]],
  build: () =>
    packages.map((name) => [`build @longhaul/${name}`, ...bin("tsdown"), join(root, "packages", name)]),
  unused: () => [["unused files, exports, dependencies", ...bin("knip")]],
  consumer: () => [...tasks.build(), ["consumer", ...script("internal/consumer/run.mjs")]],
  bench: () => [["demo runs and their controls", ...node("bench/demo-runs.ts")]],
  verify: () => [
    ...tasks.check(),
    ...tasks.types(),
    ...tasks.unused(),
    ...tasks.consumer(),
    ...(rest.includes("--no-test") ? [] : tasks.test()),
    [
      "demo runs and their controls, a sample",
      ...withArgs(node("bench/demo-runs.ts"), "--seeds", "1-3", "--controls"),
    ],
  ],
};

if (!(task in tasks)) {
  console.error(`Tasks: ${Object.keys(tasks).join(", ")}`);
  process.exit(task === "help" ? 0 : 2);
}
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Longhaul needs Node ${manifest.engines.node}; this is ${process.version}.`);
  process.exit(1);
}
install();
// The running step hears Ctrl-C itself and decides how to end; this process only waits for it.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});
const steps = tasks[task]();
for (const [i, [title, command, args, cwd]] of steps.entries()) {
  const extra = i === steps.length - 1 ? rest.filter((arg) => arg !== "--no-test") : [];
  if (steps.length > 1) console.log(`\n── ${title}`);
  const code = await run(command, [...args, ...extra], cwd ?? root);
  if (code === 0) continue;
  if (steps.length > 1) console.error(`── ${title}: failed`);
  process.exit(code);
}

function install() {
  const installed = join(root, "node_modules/.pnpm/lock.yaml");
  const wanted = readFileSync(join(root, "pnpm-lock.yaml"), "utf8");
  if (existsSync(installed) && readFileSync(installed, "utf8") === wanted && existsSync(binOf("vitest")))
    return;
  console.log(`Installing with ${manifest.packageManager} …`);
  const pnpm = ["--yes", manifest.packageManager, "install", "--frozen-lockfile", "--reporter=append-only"];
  const result = spawnSync("npx", pnpm, { cwd: root, encoding: "utf8", shell: process.platform === "win32" });
  if (result.status === 0) return;
  console.error(`${result.stdout ?? ""}${result.stderr ?? ""}`);
  console.error(`Install failed (npx ${pnpm.join(" ")}). Nothing was run.`);
  process.exit(result.status ?? 1);
}

async function run(command, args, cwd) {
  const child = spawn(command, args, { cwd, stdio: "inherit" });
  const forward = (signal) => child.kill(signal);
  process.on("SIGTERM", forward);
  const [code, signal] = await once(child, "exit");
  process.off("SIGTERM", forward);
  return signal ? 1 : code;
}

/** Path of a package's command, `package:command` where the names differ. */
function binOf(name) {
  const [folder, command = folder] = name.split(":");
  const home = join(root, "node_modules", folder === "biome" ? "@biomejs/biome" : folder);
  if (!existsSync(join(home, "package.json"))) return join(home, "missing");
  const { bin } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return join(home, typeof bin === "string" ? bin : bin[command]);
}

function withArgs([command, args], ...more) {
  return [command, [...args, ...more]];
}
