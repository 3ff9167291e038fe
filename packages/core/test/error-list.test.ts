import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

interface ErrorClass {
  readonly name: string;
  readonly code: string;
  readonly packageName: string;
  readonly retryable: boolean;
  readonly hasBrandCheck: boolean;
}

function errorClasses(): ErrorClass[] {
  return ["core", "checkpointer", "middleware", "graph-nodes"].flatMap((packageName) => {
    const src = `${root}/packages/${packageName}/src`;
    const files = readdirSync(src, { recursive: true, encoding: "utf8" });
    return files
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .flatMap((file) => {
        const text = readFileSync(`${src}/${file}`, "utf8");
        return [...text.matchAll(/export class (\w+) extends LonghaulError \{(.*?)\n\}/gs)].map(
          ([, name = "", body = ""]) => ({
            name,
            code: /readonly code = "(\w+)"/.exec(body)?.[1] ?? "",
            packageName,
            retryable: /override readonly retryable(: boolean)? = true/.test(body),
            hasBrandCheck: body.includes("static override isInstance"),
          }),
        );
      });
  });
}

it("every error has a code of its own, a brand check, and its row in docs/errors.md", () => {
  const classes = errorClasses();
  expect(classes.length).toBeGreaterThan(25);
  expect(classes.filter(({ code, hasBrandCheck }) => code === "" || !hasBrandCheck)).toEqual([]);
  expect(new Set(classes.map(({ code }) => code)).size).toBe(classes.length);
  const rows = readFileSync(`${root}/docs/errors.md`, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split(" | ").slice(0, 4).join(" | "));
  const expected = classes.map(
    ({ name, code, packageName, retryable }) =>
      `| \`${code}\` | \`${name}\` | ${packageName} | ${retryable ? "yes" : "no"}`,
  );
  expect(rows.sort()).toEqual(expected.sort());
});
