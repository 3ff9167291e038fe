// Packs the built packages, installs the tarballs into an empty folder with nothing around it, and uses them there: from `import`, from
// `require`, from TypeScript, from the command line, with and without the optional peers.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const json = (path) => JSON.parse(readFileSync(path, "utf8"));
const { packageManager, devDependencies } = json(join(root, "package.json"));
const folder = mkdtempSync(join(tmpdir(), "longhaul-consumer-"));
try {
  consume();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function consume() {
  const names = ["core", "middleware", "graph-nodes", "checkpointer"];
  const ours = Object.fromEntries(names.map((name) => [`@longhaul/${name}`, `file:${packed(name)}`]));
  const { devDependencies: peers } = json(join(root, "packages/checkpointer/package.json"));
  const pick = (...wanted) => Object.fromEntries(wanted.map((name) => [name, peers[name]]));
  const needed = ["@langchain/core", "@langchain/langgraph", "@langchain/langgraph-checkpoint", "zod"];
  install("full", {
    dependencies: { ...ours, ...pick(...needed, "langchain", "better-sqlite3") },
    devDependencies: {
      typescript: devDependencies.typescript,
      "@types/node": devDependencies["@types/node"],
    },
  });
  const { "@longhaul/core": core, "@longhaul/checkpointer": checkpointer } = ours;
  install("bare", {
    dependencies: { "@longhaul/core": core, "@longhaul/checkpointer": checkpointer, ...pick(...needed) },
  });

  const full = join(folder, "full");
  const bare = join(folder, "bare");
  step("an agent from import", full, process.execPath, "agent.mjs");
  step("an agent from require", full, process.execPath, "--no-warnings", "agent.cjs");
  const blocks = ["readme.d.ts", ...readmeBlocks(full, names)];
  const tsc = join("node_modules", "typescript", "bin", "tsc");
  for (const module of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])
    step(
      `types, ${module[1]}`,
      full,
      process.execPath,
      tsc,
      ...typeOptions(...module),
      "types.ts",
      ...blocks,
    );
  for (const command of [["--version"], ["threads", "import.db"], ["verify", "require.db"]])
    step(`longhaul ${command.join(" ")}`, full, join("node_modules", ".bin", "longhaul"), ...command);
  step("without optional peers", bare, process.execPath, "agent.mjs");
}

/** The programs in the READMEs, each as a file; what they take for granted is in readme.d.ts. */
function readmeBlocks(to, names) {
  return ["README.md", ...names.map((name) => `packages/${name}/README.md`)].flatMap((path) => {
    const blocks = readFileSync(join(root, path), "utf8").matchAll(/^```ts\n(.*?)^```/gms);
    return Array.from(blocks, ([, code], i) => {
      const file = `${path.replaceAll("/", "-")}-${i}.ts`;
      writeFileSync(join(to, file), `${code}\nexport {};\n`);
      return file;
    });
  });
}

/** The tarball of a package, which two linters have looked at. */
function packed(name) {
  const home = join(root, "packages", name);
  step(`pack ${name}`, home, "npx", "--yes", packageManager, "pack", "--pack-destination", folder);
  const tarball = join(
    folder,
    readdirSync(folder).find((file) => file.startsWith(`longhaul-${name}-`)),
  );
  step(`publint ${name}`, root, process.execPath, bin("publint"), "run", "--strict", tarball);
  // ES modules alone: Node from 20.19 on gives them to `require` too
  const attw = bin("@arethetypeswrong/cli", "attw");
  step(`attw ${name}`, root, process.execPath, attw, tarball, "--profile", "esm-only");
  return tarball;
}

function bin(name, command = name) {
  const home = join(root, "node_modules", name);
  const { bin: commands } = json(join(home, "package.json"));
  return join(home, typeof commands === "string" ? commands : commands[command]);
}

function install(name, dependencies) {
  const home = join(folder, name);
  cpSync(join(here, name), home, { recursive: true });
  const manifest = { name, version: "0.0.0", private: true, type: "module", ...dependencies };
  writeFileSync(join(home, "package.json"), JSON.stringify(manifest));
  // a released package depends on a released core; this one's is beside it
  const core = JSON.stringify(dependencies.dependencies["@longhaul/core"]);
  writeFileSync(
    join(home, "pnpm-workspace.yaml"),
    `autoInstallPeers: false\nonlyBuiltDependencies: [better-sqlite3]\noverrides: { "@longhaul/core": ${core} }\n`,
  );
  const options = ["install", "--prefer-offline", "--reporter=append-only"];
  step(`install ${name}`, home, "npx", "--yes", packageManager, ...options);
}

function typeOptions(module, resolution) {
  return ["--noEmit", "--strict", "--target", "es2023"].concat(
    ["--types", "node", "--module", module, "--moduleResolution", resolution],
    ["--skipLibCheck", "false"],
  );
}

function step(title, cwd, command, ...args) {
  const start = performance.now();
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${status === 0 ? "ok" : "FAILED"}  ${title} (${seconds} s)`);
  if (status === 0) return;
  console.error(`${stdout ?? ""}${stderr ?? ""}${error ?? ""}`);
  throw new Error(`${title}: failed`);
}
