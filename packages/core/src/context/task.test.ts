import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { resolveContextOptions } from "./context-options.ts";
import { prohibitions, updateTask } from "./task.ts";
import { readTaskState } from "./task-state.ts";

const options = resolveContextOptions({ constraints: ["Answer in one sentence."] });
const pattern = resolveContextOptions().prohibition;

describe("updateTask", () => {
  const goal = "Move table ledger_eu to v3. Never touch ledger_us. Ticket QX-4471.";
  const first = new HumanMessage({ id: "h1", content: goal });

  it("A3: the first human message is the goal for good, later ones stand beside it", () => {
    const start = updateTask(undefined, [first], options);
    expect(start).toMatchObject({ goal: { messageId: "h1", text: goal }, directions: [], humanTurns: 1 });
    expect(start?.constraints).toEqual(["Answer in one sentence.", "Never touch ledger_us."]);
    const messages = [
      first,
      new AIMessage("ok"),
      new HumanMessage({ id: "h2", content: "Use v4 instead. Don't ask." }),
    ];
    const later = updateTask(start, messages, options);
    expect(later?.goal).toBe(start?.goal);
    expect(later?.directions).toEqual([{ messageId: "h2", text: "Use v4 instead. Don't ask." }]);
    expect(later?.constraints).toContain("Don't ask.");
    expect(later?.humanTurns).toBe(2);
  });

  it("applies twice without change, survives removed messages and messages without id", () => {
    const messages = [new HumanMessage("a"), new HumanMessage("b")];
    const task = updateTask(undefined, messages, options);
    expect(updateTask(task, messages, options)).toBe(task);
    expect(updateTask(task, [], options)).toBe(task);
    expect(updateTask(undefined, [new AIMessage("hi")], options)).toBeUndefined();
    expect(task?.directions).toHaveLength(1);
    expect(readTaskState(JSON.parse(JSON.stringify(task)))).toEqual(task);
  });
});

describe("prohibitions", () => {
  it.each([
    ["Please never delete rows. Thanks.", "Please never delete rows."],
    ["Do not contact Brightwater Systems.", "Do not contact Brightwater Systems."],
    ["You mustn't reboot db-3!", "You mustn't reboot db-3!"],
    ["Only read from staging.", "Only read from staging."],
    ["Auf keinen Fall löschen.", "Auf keinen Fall löschen."],
    ["Ne supprimez pas la table.", "Ne supprimez pas la table."],
    ["不要碰生产库。价格用欧元。", "不要碰生产库。"],
    ["本番環境は絶対に触らないで。", "本番環境は絶対に触らないで。"],
    ["절대 삭제하지 마세요.", "절대 삭제하지 마세요."],
    ["No debes borrar nada.", "No debes borrar nada."],
    ["Não mexa em ledger_us.", "Não mexa em ledger_us."],
    ["Не трогай ledger_us. Спасибо.", "Не трогай ledger_us."],
    ["Никогда не удаляй ledger_us.", "Никогда не удаляй ledger_us."],
    ["Nie ruszaj ledger_us.", "Nie ruszaj ledger_us."],
    ["Raak ledger_us nooit aan.", "Raak ledger_us nooit aan."],
    ["Rör inte ledger_us.", "Rör inte ledger_us."],
    ["ledger_us tablosuna asla dokunma.", "ledger_us tablosuna asla dokunma."],
    ["لا تلمس ledger_us.", "لا تلمس ledger_us."],
    ["ledger_us को मत छूना।", "ledger_us को मत छूना।"],
    ["ledger_us には触れないでください。", "ledger_us には触れないでください。"],
    ["ledger_us는 건드리지 마세요.", "ledger_us는 건드리지 마세요."],
    ["Đừng đụng vào ledger_us.", "Đừng đụng vào ledger_us."],
    ["Jangan sentuh ledger_us.", "Jangan sentuh ledger_us."],
  ])("finds %s", (text, sentence) => {
    expect(prohibitions(text, pattern)).toEqual([sentence]);
  });

  it.each([
    "I don't know the table.",
    "We do not have a key yet.",
    "他是别人。",
    "It works now.",
    "区别在哪里？",
    "Я не знаю, какая таблица.",
    "To nie działa.",
    "Het is niet groot.",
    "知らないですね。",
  ])("leaves %s alone", (text) => {
    expect(prohibitions(text, pattern)).toEqual([]);
  });

  it("A10: pasted material pins a few sentences, not itself; a stateful pattern is no trap", () => {
    expect(prohibitions("You must not do this.\n".repeat(500), pattern)).toHaveLength(20);
    expect(prohibitions(`never ${"x".repeat(2_000)}`, pattern)).toEqual([]);
    const sticky = /never/g;
    expect(prohibitions("never a. never b. never c.", sticky)).toHaveLength(3);
    expect(prohibitions("never a.", null)).toEqual([]);
  });
});
