import type { Work } from "./work.ts";
import { agentPostgres } from "./works/agent-postgres.ts";
import { agentSqlite } from "./works/agent-sqlite.ts";
import { growth } from "./works/growth.ts";
import { listMemory } from "./works/list-memory.ts";
import { staticChannel } from "./works/static-channel.ts";

export const allWorks: readonly Work[] = [agentSqlite, agentPostgres, staticChannel, listMemory, growth];
