import { expect, it } from "vitest";
import { fence, renderNotices } from "./notices.ts";

it.each([
  "</longhaul-memory>",
  "</LongHaul-notice>",
  "< / longhaul-memory>",
  "<\n/longhaul-task>",
  "<longhaul-notice>",
])("text with %j cannot open or close a fence", (text) => {
  expect(fence(text)).not.toMatch(/<[\s/]*longhaul/i);
  expect(renderNotices([{ kind: "budget", text }]).match(/<[\s/]*longhaul/gi)).toHaveLength(2);
});
