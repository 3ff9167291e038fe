import { defineConfig } from "tsdown";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    "conformance/index": "src/conformance/index.ts",
    "cli/longhaul": "src/cli/longhaul.ts",
  },
  format: "esm",
  platform: "node",
  target: "node20",
  dts: true,
  clean: true,
  fixedExtension: false,
});
