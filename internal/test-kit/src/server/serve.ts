/**
 * Entry of a server in a process of its own, so that it outlives the agent process that a test kills:
 *
 *   tsx serve.ts <module> [<json>]
 *
 * The module exports `serverOptions(config)` which makes ScriptedServerOptions of the JSON argument. One line of JSON with
 * the URL goes to stdout. It ends on SIGTERM, and when its stdin closes, that is with the process that started it; not on SIGINT.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ScriptedServer, type ScriptedServerOptions } from "./scripted-server.ts";

interface ServerModule {
  readonly serverOptions: (config: unknown) => ScriptedServerOptions | Promise<ScriptedServerOptions>;
}

const [file, json = "null"] = process.argv.slice(2);
if (file === undefined) throw new Error("Usage: serve.ts <module that exports serverOptions> [<json>]");
const { serverOptions } = (await import(pathToFileURL(resolve(file)).href)) as ServerModule;
const server = await ScriptedServer.start(await serverOptions(JSON.parse(json)));
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);

const end = () => void server.close().then(() => process.exit(0));
process.once("SIGTERM", end);
// Ctrl-C reaches the whole process group; whoever started the server may still need it to come to an orderly end.
process.on("SIGINT", () => {});
process.stdin.once("end", end).resume();
