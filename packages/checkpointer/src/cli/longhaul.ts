#!/usr/bin/env node
import { main } from "./main.ts";

// who reads only the beginning (`| head`) has what was wanted
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

process.exitCode = await main(process.argv.slice(2), {
  out: (line) => void process.stdout.write(`${line}\n`),
  error: (line) => void process.stderr.write(`${line}\n`),
  raw: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  width: process.stdout.columns ?? Number.POSITIVE_INFINITY,
  now: () => performance.now(),
  env: (name) => process.env[name],
});
