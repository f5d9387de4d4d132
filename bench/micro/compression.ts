/**
 * What each mode of prompt compression saves, and how long it takes: node bench/micro/compression.ts
 *
 * Three conversations: questions in polite prose, an agent's turns with output of well-known commands, and an agent's turns with files
 * alone, of which nothing may be saved.
 */
import { compressionDefaults, type Mode } from "#schemas/words/Compression.ts"
import * as Compress from "#src/compression/compress.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import * as Plan from "#src/compression/plan.ts"

const times = <A>(count: number, of: (i: number) => A): ReadonlyArray<A> => Array.from({ length: count }, (_, i) => of(i))

const questions = [
  "Hello there, I hope you are doing well. I would like you to please explain, in order to help me understand it, why the request in the log was answered with a status of 429. It is very important to me because of the fact that our customers are waiting. Thanks a lot in advance!",
  "Could you please write a short summary of the discussion below? Please make sure to mention the open questions, and keep in mind that the majority of the readers are new to the project. Thank you so much!",
  "I think that the function `loadAll` in src/loader.ts is basically called twice. Can you please check whether that is true, and fix it if it is not too much trouble?\n\n```ts\nexport const loadAll = () => read(\"the file\")\n```"
]

const outputs: ReadonlyArray<readonly [string, string]> = [
  ["git status", `On branch main\nYour branch is up to date with 'origin/main'.\n\nChanges not staged for commit:\n  (use "git add <file>..." to update what will be committed)\n  (use "git restore <file>..." to discard changes in working directory)\n${times(8, (i) => `\tmodified:   src/part${i}.ts`).join("\n")}\n`],
  ["npm ci", `${times(30, (i) => `npm warn deprecated package${i}@1.0.${i}: this version is not supported any more`).join("\n")}\n\nadded 812 packages, and audited 813 packages in 14s\n\n140 packages are looking for funding\n  run \`npm fund\` for details\n\nfound 0 vulnerabilities\n`],
  ["npx vitest run", `${times(220, (i) => ` ✓ test/part${i}.test.ts (12 tests) ${i + 20}ms`).join("\n")}\n ❯ test/broken.test.ts (3 tests | 1 failed)\n   × adds up\n     → expected 3 to be 4\n\n Test Files  1 failed | 220 passed (221)\n      Tests  1 failed | 2642 passed (2643)\n`],
  ["docker logs web", `${times(600, (i) => `2026-01-01T00:00:${String(i % 60).padStart(2, "0")}Z GET /orders/${i} 200 ${i % 40}ms`).join("\n")}\n2026-01-01T00:10:00Z ERROR could not connect to the database\n`],
  ["cargo build", `${times(140, (i) => `   Compiling crate${i} v0.${i}.0`).join("\n")}\nwarning: unused variable: \`x\`\n --> src/main.rs:4:9\n    Finished dev [unoptimized] target(s) in 41.2s\n`]
]

const call = (id: string, command: string) => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "bash", arguments: JSON.stringify({ command }) } }] })
const result = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content })
const turns = (pairs: ReadonlyArray<readonly [string, string]>) => pairs.flatMap(([command, output], i) => [call(`call_${i}`, command), result(`call_${i}`, output)])

const conversations: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  questions: questions.map((content) => ({ role: "user", content })),
  commands: [{ role: "user", content: questions[2] }, ...turns(outputs)],
  files: turns([["cat src/a.ts", times(300, (i) => `const the${i} = ${i}`).join("\n")], ["git diff", times(300, (i) => `+  const the${i} = ${i}`).join("\n")]])
}

const modes: ReadonlyArray<Mode> = ["lite", "standard", "rtk", "stacked"]
const rounds = 20

console.log("| conversation | mode | tokens before | after | saved | ms |\n|---|---|---|---|---|---|")
for (const [name, messages] of Object.entries(conversations)) {
  for (const mode of modes) {
    const plan = Plan.ofMode(mode, compressionDefaults) as Plan.Plan
    const said = times(rounds, () => {
      const begun = performance.now()
      const { savings } = Compress.ofBody(plan, "chat-completions", { messages }, Identity.nameOf)
      return { savings, ms: performance.now() - begun }
    })
    const { savings: { compressedTokens, originalTokens } } = said[0] as (typeof said)[number]
    const ms = Math.min(...said.map((one) => one.ms))
    console.log(`| ${name} | ${mode} | ${originalTokens} | ${compressedTokens} | ${Math.round((1 - compressedTokens / originalTokens) * 100)} % | ${ms.toFixed(1)} |`)
  }
}
