/** The data of the engines: rule packs and filters are of their shape, and do what their own examples say. */
import { describe, expect, it } from "vitest"
import * as Schema from "effect/Schema"
import { compressionDefaults, Intensity, Language } from "#schemas/words/Compression.ts"
import { packs } from "#src/compression/packs/index.ts"
import * as Filters from "#src/compression/rtk/filters.ts"
import * as Rtk from "#src/compression/rtk/rtk.ts"

const list = Schema.Array(Schema.String)
const Rule = Schema.Struct({
  name: Schema.String, pattern: Schema.String, flags: Schema.Literals(["g", "gi"]), replacement: Schema.optionalKey(Schema.String),
  replacementMap: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)), context: Schema.Literals(["all", "user", "system", "assistant"]),
  category: Schema.Literals(["filler", "context", "structural", "dedup", "terse", "ultra"]), minIntensity: Intensity
})
const isPack = Schema.is(Schema.Struct({ language: Language, category: Schema.String, rules: Schema.Array(Rule) }))
const isFilter = Schema.is(Schema.Struct({
  id: Schema.String, label: Schema.String, description: Schema.String, category: Schema.String, priority: Schema.Int,
  match: Schema.Struct({ outputTypes: list, commands: list, patterns: list }),
  rules: Schema.Struct({ includePatterns: list, dropPatterns: list, collapsePatterns: list, deduplicate: Schema.Boolean, maxLines: Schema.Int, headLines: Schema.Int, tailLines: Schema.Int }),
  preserve: Schema.Struct({ errorPatterns: list, summaryPatterns: list }),
  tests: Schema.Array(Schema.Struct({ name: Schema.String, command: Schema.String, input: Schema.String, expected: Schema.String }))
}))

describe("rule packs", () => {
  it("are of their shape, each rule named once, each replacement shorter and itself matched", () => {
    expect(packs.map(({ language }) => language)).toEqual(["en", "pt-BR", "es", "de", "fr", "ja"])
    for (const pack of packs) {
      expect([pack.language, isPack(pack)]).toEqual([pack.language, true])
      expect(new Set(pack.rules.map(({ name }) => name)).size).toBe(pack.rules.length)
      for (const { flags, name, pattern, replacementMap = {} } of pack.rules) {
        for (const [from, to] of Object.entries(replacementMap)) {
          expect([name, from, new RegExp(pattern, flags).exec(from)?.[0], to.length < from.length]).toEqual([name, from, from, true])
        }
      }
    }
  })
})

describe("filters of output", () => {
  it("are of their shape, with an id once and a command once", () => {
    for (const filter of Filters.filters) expect([filter.id, isFilter(filter)]).toEqual([filter.id, true])
    expect(new Set(Filters.filters.map(({ id }) => id)).size).toBe(Filters.filters.length)
    const commands = Filters.filters.flatMap(({ match }) => match.commands)
    expect(commands.filter((one, i) => commands.indexOf(one) !== i)).toEqual([])
    for (const command of commands) expect([command, Filters.filterOf(command, "x")?.match.commands.includes(command)]).toEqual([command, true])
    for (const { id, rules: { headLines, maxLines, tailLines } } of Filters.filters) expect([id, headLines + tailLines]).toEqual([id, maxLines])
  })

  const examples = Filters.filters.flatMap((filter) => filter.tests.map((one) => [filter.id, one.name, filter, one] as const))
  it.each(examples)("%s %s", (_id, _name, filter, { command, expected, input }) => {
    expect(Filters.filterOf(command, input)?.id).toBe(filter.id)
    expect(Rtk.shorten(input, filter, { config: compressionDefaults.rtkConfig, intensity: "standard" }).text).toBe(expected)
  })

  it.each([
    ["git status", "git-status"], ["cd a && git -C x status 2>&1 | head -20", "git-status"], ["FOO=1 npx vitest run", "js-test"], ["sudo docker compose logs -f web", "docker-logs"],
    ["python3 -m pytest -q", "pytest"], ["ls -la src", "ls"], ["timeout 60 cargo +nightly test", "cargo-test"], ["git log --oneline | grep fix", "git-log"],
    // What prints files, or is not understood, has no filter.
    ["cat a", null], ["git diff", null], ["git show", null], ["git log -p", null], ["grep -rn x .", null], ["ls; cat a", null], ["ls $(cat a)", null], ["ls `cat a`", null],
    ["find . -exec cat {} \\;", null], ["find . | xargs cat", null], ["sed -n 1,5p a", null], ["kubectl get pods -o yaml", null], ["git log | head -5 a", null], ["./tool", null],
    ["npm ci && npm test", null], ["ls > a", null], ["cat <<EOF", null], ["", null], ["ls 'a", null], ["head -5 a", null]
  ])("the output of %j has the filter %j", (command, id) => {
    expect(Filters.filterOf(command, "x")?.id ?? null).toBe(id)
  })

  it("cut long output in the middle, keep errors, and say what is missing", () => {
    const lines = Array.from({ length: 300 }, (_, i) => i === 150 ? "x ERROR: broken" : `request ${i} served`)
    const filter = Filters.filterOf("docker logs web", "x") as Filters.Filter
    const { text, validation } = Rtk.shorten(lines.join("\n"), filter, { config: compressionDefaults.rtkConfig, intensity: "standard" })
    expect(validation.valid).toBe(true)
    expect(text.split("\n").slice(29, 34)).toEqual(["request 29 served", "[... 120 lines left out]", "x ERROR: broken", "[... 59 lines left out]", "request 210 served"])
    expect(text.split("\n")).toHaveLength(123)
  })

  it("leave JSON as it is", () => {
    expect(Filters.filterOf("docker ps", " {\"a\": 1}\n")).toBeNull()
  })
})
