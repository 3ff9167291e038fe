import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findIdentifiers, scanIdentifiers } from "./identifiers.ts";

const kinds = (text: string) => scanIdentifiers(text).map(({ kind, text }) => `${kind} ${text}`);

describe("findIdentifiers", () => {
  it("A7: every shape of the case is found character for character, the credential is not", () => {
    const text =
      "id 3f2a9c1e-1b2c-4d5e-8f90-112233445566 in /srv/app/cfg/prod-eu.yaml at commit a91be07 on 10.4.0.17:6432, " +
      "ORD-99812 took p95=412 ms; authorization: Bearer tok_live_Zz91";
    expect(findIdentifiers(text)).toEqual(
      expect.arrayContaining([
        "3f2a9c1e-1b2c-4d5e-8f90-112233445566",
        "/srv/app/cfg/prod-eu.yaml",
        "a91be07",
        "10.4.0.17:6432",
        "ORD-99812",
        "p95=412 ms",
      ]),
    );
    expect(findIdentifiers(text).join(" ")).not.toMatch(/tok_live|Zz91|Bearer/);
  });

  it.each([
    ["see https://x.io/a?b=1#c.", ["url https://x.io/a?b=1#c"]],
    ["(http://foo.bar/baz_(x))", ["url http://foo.bar/baz_(x)"]],
    ["mail bob.b+x@ex-a.com, please", ["email bob.b+x@ex-a.com"]],
    ["C:\\srv\\logs\\a.txt failed", ["path C:\\srv\\logs\\a.txt"]],
    [
      "~/notes and ./run.sh and src/app/main.ts:12",
      ["path ~/notes", "path ./run.sh", "path src/app/main.ts:12"],
    ],
    ["`pnpm run build`", ["quoted pnpm run build"]],
    ["costs $1,200.50 or EUR 20 or 30%", ["money $1,200.50", "money EUR 20", "quantity 30%"]],
    ["took 2.5 GB in 90 seconds", ["quantity 2.5 GB", "quantity 90 seconds"]],
    ["db.internal:5432 and localhost:8080", ["host db.internal:5432", "host localhost:8080"]],
    ["v1.2.3 of 2024-05-06T10:00:00Z", ["version v1.2.3", "date 2024-05-06T10:00:00Z"]],
    ["ticket QX-4471, PR #4471, user mia_li_3668", ["id QX-4471", "id #4471", "id mia_li_3668"]],
    ["table ledger_eu", ["name ledger_eu"]],
    ["chart_id=K7", ["field chart_id=K7"]],
    [
      "role arn:aws:iam::123456789012:role/deploy, urn:isbn:0451450523",
      ["id arn:aws:iam::123456789012:role/deploy", "id urn:isbn:0451450523"],
    ],
    [
      "see 10.1000/xyz123, acme/api#412, acme/web:1.4 and @acme/kit@2.0.1.",
      ["id 10.1000/xyz123", "id acme/api#412", "id acme/web:1.4", "id @acme/kit@2.0.1"],
    ],
  ])("finds the identifiers of %j", (text, expected) => {
    expect(kinds(text)).toEqual(expect.arrayContaining(expected));
  });

  it("keeps a short JSON value with its name and takes no key for a thing", () => {
    const found = findIdentifiers('{"chart_id": "K7", "order_number": 7, "status":"shipped_late"}');
    expect(found).toEqual(expect.arrayContaining(['"chart_id": "K7"', '"order_number": 7', "shipped_late"]));
    expect(found).not.toContain("order_number");
  });

  it("finds identifiers inside text without spaces", () => {
    expect(
      findIdentifiers("订单ORD-99812已发货，文件在/srv/app/a.yaml里，价格为1,299元，见《运营手册》"),
    ).toEqual(["ORD-99812", "/srv/app/a.yaml", "1,299元", "运营手册"]);
    expect(findIdentifiers("보고서는/srv/out/r.csv에 있습니다")).toEqual(["/srv/out/r.csv"]);
  });

  it.each([
    "and/or, either/or",
    "the 20th of May, 3/4 of it",
    "It's the user's 'old' dog",
    "utf-8",
    "e.g. this",
  ])("plain prose has none: %j", (text) => {
    expect(findIdentifiers(text)).toEqual([]);
  });

  it("takes a part of a URL up to its secret only", () => {
    expect(findIdentifiers("GET https://api.x.io/v1?page=2&token=abc123def456")).toEqual([
      "https://api.x.io/v1?page=2",
    ]);
  });

  it("every identifier is a substring of its text, none is a credential, and twice the same answer", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "/srv/a.ts",
        "ORD-1234",
        "https://a.b/c",
        '"k":"v1"',
        "412 ms",
        "password=hunter2",
        "://",
        "`",
        '"',
      ),
      fc.uuid(),
      fc.emailAddress(),
      fc.webUrl(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const text = pieces.join(" ");
        const found = findIdentifiers(text);
        for (const identifier of found) expect(text).toContain(identifier);
        expect(found.join("\n")).not.toContain("hunter2");
        expect(new Set(found).size).toBe(found.length);
        expect(findIdentifiers(text)).toEqual(found);
      }),
      { seed: 7, numRuns: 150 },
    );
  });

  it("is linear in hostile text", () => {
    const hostile = [
      "://",
      "a.",
      "/a",
      '"',
      "1,",
      "`a",
      "a=",
      "deadbeef0",
      "eyJ.",
      "password: ",
      'password="',
      "-",
      " ",
    ];
    for (const unit of hostile) {
      const time = (length: number) => {
        const text = unit.repeat(length / unit.length);
        const start = process.cpuUsage();
        findIdentifiers(text);
        const { user, system } = process.cpuUsage(start);
        return (user + system) / 1_000;
      };
      time(20_000);
      // Ten times the text may cost ten times the time, not a hundred; the floor keeps noise out.
      expect(time(400_000), JSON.stringify(unit)).toBeLessThan(Math.max(2_000, time(40_000) * 60));
    }
  });
});
