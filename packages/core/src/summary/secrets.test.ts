import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { looksLikeSecret, redactSecrets } from "./secrets.ts";

describe("redactSecrets", () => {
  it.each([
    ["authorization: Bearer tok_live_Zz91", "Zz91"],
    ['{"authorization":"Bearer tok_live_Zz91"}', "Zz91"],
    ['"{\\"api_key\\":\\"abcdef99\\"}"', "abcdef99"],
    ["DB_PASSWORD=hunter2", "hunter2"],
    ['"password": "pa ss"', "pa ss"],
    ["postgres://app:s3cr3t@db:5432/x", "s3cr3t"],
    ["https://x.io/cb?access_token=abc123def&x=1", "abc123def"],
    ["key AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"],
    ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghij"],
    ["sk-proj-abcdefghijklmnop1234", "abcdefghij"],
    ["jwt eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ", "eyJzdWIiOiIx"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"],
    ["cookie: sid=998877", "998877"],
  ])("A7: %j loses its secret", (text, secret) => {
    expect(redactSecrets(text)).not.toContain(secret);
    expect(looksLikeSecret(text)).toBe(true);
  });

  it.each([
    '{"next_page_token":"xyz123abc","tokens":412,"max_tokens":3000}',
    "basic information about token refreshing",
    "ORD-99812 a91be07 3f2a9c1e-1b2c-4d5e-8f90-112233445566 p95=412 ms",
    '{"password": null}',
    "https://x.io/a?b=1",
    "bearer tokens are used",
  ])("%j stays as it is", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it("twice is once", () => {
    const piece = fc.constantFrom(
      "password=",
      "hunter2",
      '"',
      ":",
      " ",
      "token",
      "=",
      "Bearer ",
      "abc123def456",
      "https://a:b@c",
      "\\",
      "'",
      ",",
      "authorization",
      "\n",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 15 }), (pieces) => {
        const once = redactSecrets(pieces.join(""));
        expect(redactSecrets(once)).toBe(once);
      }),
      { seed: 11, numRuns: 500 },
    );
  });
});
