// Static imports would be loaded before the cache is on.
import "./preload.mjs"

await import("effect/schema/SchemaJITCompiler/enable")
const { run } = await import("#src/cli/main.ts")
await run(process.argv.slice(2))
