import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { StateFormatError } from "../errors.ts";
import { isAlive, type Owner, processOwner, readOwner, sameOwner } from "./owner.ts";

const here: Owner = { v: 1, host: "boot/pid:[1]", pid: 10, started: "500" };

it("knows this process as alive and as itself", () => {
  expect(isAlive(processOwner())).toBe(existsSync("/proc/self/stat") ? true : "unknown");
  expect(readOwner(structuredClone(processOwner()))).toEqual(processOwner());
});

it("cannot tell about another host or another container", () => {
  expect(isAlive({ ...here, host: "boot/pid:[2]" }, here, () => "absent")).toBe("unknown");
});

it("takes a reused pid for a dead owner, also when the pid is its own", () => {
  expect(isAlive({ ...here, pid: 11 }, here, () => ({ started: "501" }))).toBe(false);
  expect(isAlive({ ...here, pid: 11 }, here, () => ({ started: "500" }))).toBe(true);
  expect(isAlive({ ...here, started: "3" }, here)).toBe(false);
  expect(sameOwner({ ...here, started: "3" }, here)).toBe(false);
});

it("does not guess where start times are missing", () => {
  expect(isAlive({ ...here, pid: 11, started: null }, here, () => ({ started: null }))).toBe("unknown");
  expect(isAlive({ ...here, pid: 11, started: null }, here, () => "absent")).toBe(false);
  expect(sameOwner({ ...here, started: null }, { ...here, started: null })).toBe(false);
});

it.skipIf(!existsSync("/proc/self/stat"))("sees a real process die", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const owner: Owner = { ...processOwner(), pid: child.pid ?? -1, started: null };
  expect(isAlive(owner)).toBe("unknown");
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
  expect(isAlive(owner)).toBe(false);
});

it.each([null, "x", {}, { v: 2 }, { ...here, pid: 1.5 }])("refuses %j as an owner", (value) => {
  expect(() => readOwner(value)).toThrow(StateFormatError);
});
