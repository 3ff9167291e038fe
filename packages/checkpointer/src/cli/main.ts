import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { LonghaulError } from "@longhaul/core";
import { COMMANDS } from "./commands.ts";
import { type CliIo, UsageError } from "./io.ts";
import { checkOptions, OPTIONS, saverOptionsOf } from "./options.ts";
import { tableOf } from "./table.ts";

const USAGE = [
  "longhaul <command> … [--json]",
  "",
  ...Object.values(COMMANDS).flatMap(({ usage, about }) => [`  ${usage}`, `      ${about}`]),
  "",
  "Of encrypted storage: [--key-env [ID=]NAME] [--key-file [ID=]FILE], several times where there are several keys, the first for what is",
  "written; [--accept-plaintext] for rows from before the key. Of Redis: [--redis-prefix longhaul]. Also: help, --version",
  "Targets: agent.db, sqlite:agent.db, file:./checkpoints, postgres://…, redis://…",
  "Exit codes: 0 fine, 1 something is wrong with the data, 2 wrong usage, 3 the storage cannot be used",
].join("\n");

/** Codes of errors that are the data's, not the storage's. */
const DATA = /^(DAMAGED_RECORD|IMPORT|THREAD_EXISTS|NO_SUCH_CHECKPOINT|VERSION_CONFLICT)$/;

/** Runs one command; resolves to the exit code. */
export async function main(argv: readonly string[], io: CliIo): Promise<number> {
  try {
    const { values, positionals } = parse(argv);
    const [name, ...args] = positionals;
    const command = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (values.version) {
      io.out(version());
      return 0;
    }
    if (name === "help" && args.length === 0) {
      io.out(USAGE);
      return 0;
    }
    if (values.help) {
      io.out(command ? `longhaul ${command.usage}\n\n${command.about}` : USAGE);
      return 0;
    }
    if (!command)
      throw new UsageError(name === undefined ? USAGE : `there is no command ${name}\n\n${USAGE}`);
    checkOptions(values, command.options);
    const [least, most] = command.args;
    if (args.length < least || args.length > most) throw new UsageError(`usage: longhaul ${command.usage}`);
    const options = saverOptionsOf(values, io);
    const { rows, code, problem } = await command.run({ io, values, args, options });
    if (rows !== undefined && values.json) io.out(JSON.stringify(rows, null, 2));
    else if (rows?.length === 0 && problem === undefined) io.error("there is nothing");
    else for (const line of tableOf(rows ?? [], io.width)) io.out(line);
    if (problem !== undefined) io.error(problem);
    return code;
  } catch (problem) {
    io.error(problem instanceof Error ? problem.message : String(problem));
    if (problem instanceof UsageError) return 2;
    if (!LonghaulError.isInstance(problem)) return 3;
    if (problem.code === "INVALID_OPTIONS" || problem.code === "INVALID_ADDRESS") return 2;
    return DATA.test(problem.code) ? 1 : 3;
  }
}

/** Of the package, two folders above this file, built or not. */
function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
