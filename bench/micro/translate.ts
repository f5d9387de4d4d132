/**
 * CPU of translation alone, for every pair of a client's format and an upstream's: microseconds per stream event beyond the
 * pass-through of the same family, and long requests as a multiple of their JSON.parse.
 * Run: node bench/micro/translate.ts [--short] [--json] [--faces a,b] [--families a,b] [--kinds a,b] [--no-streams] [--no-prompts].
 */
// Static imports would build the schemas before their compiler is on.
await import("effect/schema/SchemaJITCompiler/enable")
const { run } = await import("#bench/micro/translate/run.ts")
run(process.argv.slice(2))
