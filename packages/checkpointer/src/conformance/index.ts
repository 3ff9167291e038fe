export { type ArtifactStoreFixture, artifactStoreSuite } from "./artifact-store.ts";
export { type RecordStoreFixture, recordStoreSuite } from "./record-store.ts";
export type { TestRunner } from "./runner.ts";
