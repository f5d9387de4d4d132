import "effect/schema/SchemaJITCompiler/enable"
import * as Module from "node:module"

Module.enableCompileCache?.()
const { run } = await import("#src/cli/main.ts")
run(process.argv.slice(2))
