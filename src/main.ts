import { enableCompileCache } from "node:module"

// Static imports would be compiled before the cache is on.
enableCompileCache()
await import("effect/schema/SchemaJITCompiler/enable")
const { run } = await import("#src/cli/main.ts")
await run(process.argv.slice(2))
