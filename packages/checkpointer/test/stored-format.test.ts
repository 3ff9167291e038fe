import { AIMessage } from "@langchain/core/messages";
import { CompactSaver } from "@longhaul/checkpointer";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { open, tempFile } from "./temp.ts";

/**
 * Rows as the first version of the format wrote them, one of each codec. They must be readable for ever: if this test fails, the
 * change needs a new format version or codec, not new fixtures.
 */
const FIXTURE: {
  readonly heads: string;
  readonly note: string;
  readonly messages: string;
  readonly list: string;
  readonly chunks: Record<string, string>;
} = {
  heads:
    "TAECTK82H9gBw5J0zHQNDXWNDUIMDKzASM/AwCAKPT3l5YMbGIaoaQjEzckEe94Q7Hh4WEPbS4boyg3QvA7VjaQIYhM0mePymDFaCBgAAA==",
  note: "TAEAheLPFkAxMCwiYmlnIiw2LCIxMjM0NTY3ODkwMTIzNDU2Nzg5MCIsNywzLDAsMCwyLDQsNSwiLTAiLDUsIk5hTiIsMCww",
  messages: "TAECp9N8TvEBM8JIwImGUJWWSBU0SGlZqlFocYhjVUqRaVFZYXpImGOWgX86xcUHkSUrUlmPqZzIUg8EAQ==",
  list: "TAEAFRFgpBsxNSwiNFFod2taRl9taVZrd3p0OGZ4VnpJdyI=",
  chunks: {
    ve2UsTAzdr5rvqgTVAj0Og:
      "TAEBhtoXi8K7Ae3GsQkAIAwAsFdKf3MQLIri/x5iMiXH3K2ir3Mr3N3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3X9+Pg==",
    UsJggdqtZPBXrlmvq09Jmw:
      "TAEAdL2A1VkiaXRlbSAwIiwiaXRlbSAxIiwiaXRlbSAyIiwiaXRlbSAzIiwiaXRlbSA0IiwiaXRlbSA1IiwiaXRlbSA2IiwiaXRlbSA3IiwiaXRlbSA4IiwiaXRlbSA5Ig==",
    FCfq80NiJxcs7Ejpc64k4Q:
      "TAECzK5R46ECPda5DYBAAAPBVhAVcDbP0X9jSAgm22zSfV9yGdt3lcsYKqpqV4c61aWmuv8KI4wwwggjjDDCCCOMMsooo4wyyiijjM71AQ==",
    NFEAQp8eucljmG12MSJs0A:
      "TAEC7BdsQ9sBPda5DcAgAATBVhAV8B02/TeGZFmTbTbpfi9Z5vmvsqymuhpqqqWitnrUqxhhhBFGGGGEEUYYYYSxW70=",
    yMr6sxKHe9HwhByIb6wJ3A:
      "TAECd0nDuO8BPda7DYAwEAXBViwq4GPfO/pvDAnBZJtNuu9Ljjq+qxx1qktNtVSpqFb3X9kVI4wwwggjjDDCCKMZzWhGM3puDw==",
    "sUdfXynB5WQheJPf-Sb1yw":
      "TAECDKKcpY4CRda7DcAwDMTQVYxMIPmr23+xAEHM617Hlt9Ltlr/Vbba6KBCulKgRB0NNBEN0RAN0RCNjDDT7OYwp7nMbR6zTNcynhc=",
    ZaWwQuSdaHLEKorOn41ukA:
      "TAECkmGkeq8BRdbBDQAQFATRVn5UYBcf/TcmETG3d5vr3JcMSW8rQzJssMMBE0644P50hdRMzdRMzdSc5QA=",
    "Cr-5_SJg-e1IlGoQFqkImg":
      "TAEC3OFpDq8BRda5DQAgEMTAVhAVcLvH139jSAjhbDKnvi9ZQvNtZQktuD/dYEBBw4QdDkjN1EwtqSW1VD0=",
    woUitjNdz4niv4WgdBkc_Q:
      "TAECuv7wRu8GRda7DcJQEADBVhAV+B6+X/+NISHkyTabdH8v+Yr789/KV9y3TFmy5ch9Mi8Z8kha0pKWtKQlLWlFK1rRila0ohWtaEUrWtOa1rSmNa1pTWta05o2tKENbWhDG9rQhja0oS1taUtb2tKWtrSlLW0f7VyXDHnkR94yZcmWI2lBC1rQgha0oAUtaEEL2qEd2jnvLw==",
    "JdALuCDfYg_Qq4vRCv-SVA":
      "TAECEZ+dIsUBRda5DQAgEMTAVhAVHLvH139jSAjhbDKnvi9ZJL+tLFLCDgeccMH96YANClIzNVMzNVMzNVPLqAc=",
    FWnY5gxFOB9EkOKxBAyonQ:
      "TAEAQERuJFciaXRlbSAyNDEiLCJpdGVtIDI0MiIsIml0ZW0gMjQzIiwiaXRlbSAyNDQiLCJpdGVtIDI0NSIsIml0ZW0gMjQ2IiwiaXRlbSAyNDciLCJpdGVtIDI0OCI=",
    QwEfE1GBHOb1nQg328hlZw:
      "TAEC9eMCxOoCRdbBCYAwAATBVsQKNJq72H9jggjz299893vJbdzPv5XbmIc85ZCXvOWUkZVL0kILLbTQQgsttNBCC6200korrbTSSiuttNIWbZ37Cw==",
    uhdmF9TVIvE5KECLAqEkKw:
      "TAEAK/Rr9DYiaXRlbSAyODIiLCJpdGVtIDI4MyIsIml0ZW0gMjg0IiwiaXRlbSAyODUiLCJpdGVtIDI4NiI=",
    "rhSN6fZcXbBCUD_r-Z7-Ag":
      "TAEAlK7gxI4BIml0ZW0gMjg3IiwiaXRlbSAyODgiLCJpdGVtIDI4OSIsIml0ZW0gMjkwIiwiaXRlbSAyOTEiLCJpdGVtIDI5MiIsIml0ZW0gMjkzIiwiaXRlbSAyOTQiLCJpdGVtIDI5NSIsIml0ZW0gMjk2IiwiaXRlbSAyOTciLCJpdGVtIDI5OCIsIml0ZW0gMjk5Ig==",
    "4QhwkZF_miVkwzt8fxVzIw":
      "TAECRrXZUO8CLc5Lj4IwFAXg/+JaElBAWVIsQlGwwyDKhgiForwE5DW/fjJDdzf5cs49m/Xf5XWIUtJ8ggu4tUU5NLyCynH1b7qWNnvefqIp7nbw9Y5lMRfxYrYOVfzeJ31cvMqjsDm7qOPVxeZzK3eTZSSKMWZgNiN5RFtmnUfS21wBycdZgi4p50bCzP4FD3/EvUsexgladetUotDnLKe1nBS6iHKJYBbHGutNbpZ0sbH2np+XTX7E6jmIPiUgj0O2ExH11GuH9E5D3IjDlzZw7pV16n51l+ikO0CBuWNNQJ3riuXwCFMoHIHhREKF6Xazz4qA7ewzUurK99UcoGRB7aQ2MLeYtZlry2kQ3yKgeYew5YIdp9LVmv8F",
  },
};

it("rows of format 1 are readable, plain, packed and packed with the dictionary", async () => {
  const path = tempFile();
  const empty = CompactSaver.fromConnString(path);
  await empty.setup();
  await empty.end();
  const database = new Database(path);
  const bytes = (base64: string) => Buffer.from(base64, "base64");
  database.exec("INSERT INTO threads (id, thread_id) VALUES (1, 't')");
  database.prepare("INSERT INTO heads VALUES (1, '', 'c1', NULL, ?)").run(bytes(FIXTURE.heads));
  database.prepare("INSERT INTO channel_values VALUES (1, '', 'note', '1', ?)").run(bytes(FIXTURE.note));
  database
    .prepare("INSERT INTO channel_values VALUES (1, '', 'messages', '1', ?)")
    .run(bytes(FIXTURE.messages));
  database.prepare("INSERT INTO channel_values VALUES (1, '', 'list', '1', ?)").run(bytes(FIXTURE.list));
  for (const [hash, data] of Object.entries(FIXTURE.chunks)) {
    database
      .prepare("INSERT INTO chunks (thread, hash, data) VALUES (1, ?, ?)")
      .run(Buffer.from(hash, "base64url"), bytes(data));
  }
  database.close();
  const codecs = [FIXTURE.note, ...Object.values(FIXTURE.chunks)].map((data) => bytes(data)[2]);
  expect(new Set(codecs)).toEqual(new Set([0, 1, 2]));
  const saver = open(path);
  const tuple = await saver.getTuple({ configurable: { thread_id: "t" } });
  expect(tuple?.checkpoint).toEqual({
    v: 4,
    id: "c1",
    ts: "2026-11-30T00:00:00.000Z",
    channel_values: {
      note: new Map<unknown, unknown>([
        ["big", 12345678901234567890n],
        [new Date(0), [undefined, -0, Number.NaN]],
      ]),
      list: Array.from({ length: 300 }, (_, i) => `item ${i}`),
      messages: [new AIMessage({ id: "a1", content: "lorem ipsum ".repeat(2000) })],
    },
    channel_versions: { note: "1", messages: "1", list: "1" },
    versions_seen: { agent: { messages: "1" } },
  });
  expect(tuple?.metadata).toEqual({ source: "loop", step: 3, parents: {} });
  expect((await saver.verify()).ok).toBe(true);
});
