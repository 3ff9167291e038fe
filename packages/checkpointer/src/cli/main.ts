import { parseArgs } from "node:util";
import { LonghaulError } from "@longhaul/core";
import { COMMANDS } from "./commands.ts";
import { type CliIo, UsageError } from "./io.ts";
import { checkOptions, keyOf, OPTIONS } from "./options.ts";
import { tableOf } from "./table.ts";

const USAGE = [
  "longhaul <command> … [--json] [--key-env NAME | --key-file FILE]",
  "",
  ...Object.values(COMMANDS).flatMap(({ usage, about }) => [`  ${usage}`, `      ${about}`]),
  "",
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
    if (values.help) {
      io.out(command ? `longhaul ${command.usage}\n\n${command.about}` : USAGE);
      return 0;
    }
    if (!command)
      throw new UsageError(name === undefined ? USAGE : `there is no command ${name}\n\n${USAGE}`);
    checkOptions(values, command.options);
    const [least, most] = command.args;
    if (args.length < least || args.length > most) throw new UsageError(`usage: longhaul ${command.usage}`);
    const key = keyOf(values, io);
    const options = key === undefined ? {} : { encryptionKey: () => key };
    const { rows, code } = await command.run({ io, values, args, options });
    if (values.json) io.out(JSON.stringify(rows, null, 2));
    else for (const line of tableOf(rows, io.width)) io.out(line);
    return code;
  } catch (problem) {
    io.error(problem instanceof Error ? problem.message : String(problem));
    if (problem instanceof UsageError) return 2;
    if (!LonghaulError.isInstance(problem)) return 3;
    if (problem.code === "INVALID_OPTIONS" || problem.code === "INVALID_ADDRESS") return 2;
    return DATA.test(problem.code) ? 1 : 3;
  }
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
