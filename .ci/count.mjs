// Counts the tests of a JSON report. Fails when there are none, or when tests of a server were skipped: CI has brought the server.
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const text = readFileSync(process.argv[2], "utf8");
const {
  numTotalTests = 0,
  numPassedTests = 0,
  numFailedTests = 0,
  testResults = [],
} = text ? JSON.parse(text) : {};

let skipped = 0;
for (const { name, assertionResults } of testResults) {
  if (!/postgres|redis/.test(basename(name))) continue;
  const count = assertionResults.filter(({ status }) => status === "skipped" || status === "pending").length;
  if (count > 0) process.stdout.write(`${basename(name)}: ${count} tests skipped for want of a server\n`);
  skipped += count;
}
const others = numTotalTests - numPassedTests - numFailedTests;
process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed, ${others} skipped\n`);
process.exitCode = numTotalTests > 0 && skipped === 0 ? 0 : 1;
