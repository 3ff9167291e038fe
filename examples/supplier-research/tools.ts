import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import type { ToolWorld } from "@longhaul/test-kit";
import { z } from "zod";
import type { Catalogue, Supplier } from "./world/catalogue.ts";
import {
  listPage,
  PAGES,
  quoteDocument,
  ratesPage,
  registryAnswer,
  supplierById,
  supplierPage,
} from "./world/pages.ts";

export interface ResearchToolsOptions {
  readonly catalogue: Catalogue;
  readonly world: ToolWorld;
  /** Idempotency key of the running call, from the tool's config. Without one every request is a new one. */
  readonly effectKey?: ((config: unknown) => string | undefined) | undefined;
}

const supplierField = z.string().describe("Supplier number, such as S07");

/** The researcher's tools: reads of the catalogue, and effects in the world. */
export function createResearchTools(options: ResearchToolsOptions): StructuredToolInterface[] {
  const { catalogue, world } = options;
  const known = (id: string): Supplier => {
    const supplier = supplierById(catalogue, id);
    if (!supplier) throw new Error(`There is no supplier ${id}`);
    return supplier;
  };
  const sampleOf = (id: string) => sampleText(known(id), world);
  return [
    tool(async () => listPage(catalogue), {
      name: "list_suppliers",
      description: "All suppliers with their numbers and sites.",
      schema: z.object({}),
    }),
    tool(async () => ratesPage(catalogue), {
      name: "get_exchange_rates",
      description: "Exchange rates to EUR.",
      schema: z.object({}),
    }),
    tool(async ({ supplier, page }) => supplierPage(catalogue, known(supplier), page), {
      name: "read_page",
      description: "One page of a supplier's site.",
      schema: z.object({ supplier: supplierField, page: z.enum(PAGES) }),
    }),
    tool(async ({ report }) => registryAnswer(catalogue, report), {
      name: "check_report",
      description: "Asks the auditors' registry about a SOC 2 report.",
      schema: z.object({ supplier: supplierField, report: z.string().describe("Report number") }),
    }),
    tool(
      async ({ supplier }, config) => {
        const { id, name } = known(supplier);
        const { result } = world.perform({
          tool: "request_quote",
          business: `quote:${id}`,
          key: options.effectKey?.(config),
          payload: { supplier: id },
          result: (n) => ({ supplier: id, quote: `Q-${4_000 + n * 7}` }),
        });
        const { quote } = result as { quote: string };
        return `${name} (${id}) has issued quote number ${quote}. It can be read with read_quote.`;
      },
      {
        name: "request_quote",
        description: "Asks a supplier for a binding quote. The supplier is contacted.",
        schema: z.object({ supplier: supplierField }),
      },
    ),
    tool(
      async ({ quote }) => {
        const found = world.results("request_quote").find((it) => (it as { quote: string }).quote === quote);
        if (!found) return `There is no quote ${quote}.`;
        return quoteDocument(catalogue, known((found as { supplier: string }).supplier), quote);
      },
      { name: "read_quote", description: "The text of a quote.", schema: z.object({ quote: z.string() }) },
    ),
    tool(
      async ({ supplier }) => {
        const { id } = known(supplier);
        world.perform({
          tool: "reserve_sample",
          business: `sample:${id}`,
          payload: { supplier: id },
          result: (n) => ({ supplier: id, sample: `RS-${300 + n}` }),
        });
        return sampleOf(id);
      },
      {
        name: "reserve_sample",
        description: "Reserves a sample from a supplier. The supplier is contacted.",
        schema: z.object({ supplier: supplierField }),
      },
    ),
    tool(async ({ supplier }) => sampleOf(supplier), {
      name: "find_sample",
      description: "Looks up a reserved sample of a supplier.",
      schema: z.object({ supplier: supplierField }),
    }),
    tool(
      async ({ to, subject, body }) => {
        world.perform({
          tool: "send_summary_mail",
          business: "mail:summary",
          payload: { to, subject, body },
          result: (n) => ({ mail: `M-${900 + n}`, to }),
        });
        return mailText(world);
      },
      {
        name: "send_summary_mail",
        description: "Sends the summary to procurement.",
        schema: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
      },
    ),
    tool(async () => mailText(world), {
      name: "find_mail",
      description: "Looks up whether the summary mail was sent.",
      schema: z.object({ to: z.string() }),
    }),
    tool(
      async ({ quote }) => {
        world.perform({
          tool: "place_order",
          business: `order:${quote}`,
          payload: { quote },
          result: (n) => `O-${n}`,
        });
        return `The order for quote ${quote} is placed.`;
      },
      {
        name: "place_order",
        description: "Orders what a quote offers.",
        schema: z.object({ quote: z.string() }),
      },
    ),
  ];
}

/** How each tool keeps its effect from happening twice, for the options of Longhaul. */
export function researchToolEffects({ catalogue, world }: ResearchToolsOptions): Readonly<
  Record<
    string,
    {
      effect: "none" | "key" | "query" | "record";
      check?: (args: Readonly<Record<string, unknown>>) => SampleAnswer;
    }
  >
> {
  const none = { effect: "none" } as const;
  return {
    list_suppliers: none,
    get_exchange_rates: none,
    read_page: none,
    check_report: none,
    read_quote: none,
    find_sample: none,
    find_mail: none,
    request_quote: { effect: "key" },
    reserve_sample: {
      effect: "query",
      check: (args) => {
        const supplier = supplierById(catalogue, String(args.supplier));
        if (!supplier || world.find("reserve_sample", `sample:${supplier.id}`) === undefined)
          return { outcome: "absent" };
        return { outcome: "done", result: sampleText(supplier, world) };
      },
    },
    send_summary_mail: { effect: "record" },
    place_order: { effect: "record" },
  };
}

export type SampleAnswer =
  | { readonly outcome: "absent" }
  | { readonly outcome: "done"; readonly result: string };

function sampleText({ id, name }: Supplier, world: ToolWorld): string {
  const found = world.find("reserve_sample", `sample:${id}`) as { sample: string } | undefined;
  if (!found) return `No sample of ${name} (${id}) is reserved.`;
  return `Sample ${found.sample} of ${name} (${id}) is reserved.`;
}

function mailText(world: ToolWorld): string {
  const found = world.find("send_summary_mail", "mail:summary") as { mail: string; to: string } | undefined;
  return found ? `Mail ${found.mail} was sent to ${found.to}.` : "No summary mail was sent.";
}
