/** A name in the pages is a name of the program: a damaged one would be looked for in vain. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import * as Flags from "#schemas/flags.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"

const root = path.join(import.meta.dirname, "..", "..")
const read = (...parts: ReadonlyArray<string>): string => fs.readFileSync(path.join(root, ...parts), "utf8")
const variable = /(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![A-Za-z0-9_])/g

/** Of Node and of other programs. */
const foreign = ["GATEWAY_TOKEN", "NO_COLOR", "NODE_COMPILE_CACHE", "NODE_DISABLE_COMPILE_CACHE"]
const vendors = fs.readdirSync(path.join(root, "src", "providers", "data"))
  .flatMap((file) => read("src", "providers", "data", file).match(variable) ?? [])
const known = new Set<string>([
  ...[...Settings.markdown().matchAll(/^\| ([A-Z0-9_]+) \|/gm)].map(([, name]) => name ?? ""),
  ...Flags.catalogue.map(({ key }) => key),
  ...vendors,
  ...foreign
])

/** The text between backticks, in lines and in blocks. */
const quoted = (text: string): ReadonlyArray<string> => {
  const blocks = text.match(/^```[\s\S]*?^```/gm) ?? []
  return [...blocks, ...(text.replaceAll(/^```[\s\S]*?^```/gm, "").match(/`[^`]+`/g) ?? [])]
}

const pages = ["README.md", ...fs.readdirSync(path.join(root, "docs")).filter((file) => file.endsWith(".md")).map((file) => path.join("docs", file))]

describe("the pages", () => {
  it("know the settings and the flags", () => {
    expect([known.has("GATEWAY_WORKERS"), known.has("REQUIRE_API_KEY"), known.has("OPENAI_API_KEY")]).toEqual([true, true, true])
    expect(quoted("a `GATEWAY_X` b\n```sh\nY_Z=1\n```\n").join(" ").match(variable)).toEqual(["Y_Z", "GATEWAY_X"])
  })

  it.each(pages)("%s names only variables and flags that there are", (page) => {
    const unknown = quoted(read(page)).flatMap((text) => text.match(variable) ?? []).filter((name) => !known.has(name))
    expect([...new Set(unknown)]).toEqual([])
  })

  it.each(pages)("%s links only to pages that there are", (page) => {
    const targets = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target]) => target ?? "")
    expect(targets.filter((target) => !fs.existsSync(path.join(root, path.dirname(page), target)))).toEqual([])
  })
})
