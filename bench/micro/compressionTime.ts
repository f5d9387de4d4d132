/**
 * How long each engine of prompt compression takes for a conversation of 1 MB: node bench/micro/compressionTime.ts
 *
 * Prose in turns, output of a command, a list in JSON and a tree of a page, of the same length each. Requests of this size are compressed
 * in a thread beside the loop.
 */
import { compressionDefaults, EngineId } from "#schemas/words/Compression.ts"
import * as Compress from "#src/compression/compress.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import * as Plan from "#src/compression/plan.ts"

const part = 256 * 1024
const filled = (line: (i: number) => string): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (let [i, length] = [0, 0]; length < part; i++) {
    const one = line(i)
    lines.push(one)
    length += one.length + 1
  }
  return lines
}
const call = (id: string, name: string, args: object) => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }] })
const result = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content })

const prose = filled((i) => `We have looked at part ${i} of the house, and it is not the case that the tests of src/part${i}.ts would fail. They are in a good state. Please go on with the next one of them.`)
const turns = Array.from({ length: 40 }, (_, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content: prose.slice(i * prose.length / 40, (i + 1) * prose.length / 40).join("\n") }))
const messages = [
  ...turns, call("a", "bash", { command: "docker logs web" }), result("a", filled((i) => `2026-01-01T00:00:00Z GET /orders/${i} 200 ${i % 40}ms`).join("\n")),
  call("b", "list_orders", {}), result("b", `[${filled((i) => `{"id":${i},"name":"the order ${i}","amount":${i}.50}`).join(",")}]`),
  call("c", "browser_snapshot", {}), result("c", `- main:\n${filled((i) => `  - listitem "Order ${i}" [ref=e${i}]`).join("\n")}`), ...turns.slice(0, 6).map((one) => ({ ...one, content: "Go on." }))
]

const settings = { ...compressionDefaults, ultra: { ...compressionDefaults.ultra, enabled: true }, cavemanConfig: { ...compressionDefaults.cavemanConfig, compressRoles: ["user" as const, "assistant" as const] } }
const rounds = 5

console.log("| engine | tokens before | after | saved | ms |\n|---|---|---|---|---|")
for (const engine of EngineId.literals) {
  const plan = Plan.ofEngine(engine, settings) as Plan.Plan
  const said = Array.from({ length: rounds }, () => {
    const begun = performance.now()
    const { savings } = Compress.ofBody(plan, "chat-completions", { messages }, Identity.nameOf)
    return { savings, ms: performance.now() - begun }
  })
  const { savings: { compressedTokens, originalTokens } } = said[0] as (typeof said)[number]
  console.log(`| ${engine} | ${originalTokens} | ${compressedTokens} | ${Math.round((1 - compressedTokens / originalTokens) * 100)} % | ${Math.round(Math.min(...said.map((one) => one.ms)))} |`)
}
