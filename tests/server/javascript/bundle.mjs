// Bundle the scenarios with the TypeScript of agent-chat-ui: node bundle.mjs OUTPUT
import { build } from "esbuild";

await build({
  entryPoints: ["scenarios.mjs"],
  outfile: process.argv[2],
  bundle: true,
  platform: "node",
  format: "esm",
  logLevel: "error",
  alias: { "@/providers/Stream": "./stream_context.mjs" },
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
});
