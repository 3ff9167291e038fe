export { type ArtifactStoreFixture, artifactStoreSuite } from "./artifact-store.ts";
export type { DriverFixture } from "./driver-fixture.ts";
export { type RecordStoreFixture, recordStoreSuite } from "./record-store.ts";
export type { TestRunner } from "./runner.ts";
export { storageDriverSuite } from "./storage-driver.ts";
