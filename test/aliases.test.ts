/** A namespace import bears the name of its file, so that a reader finds the file from the word. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"

const root = path.join(import.meta.dirname, "..")
const folders = ["src", "actors", "schemas", "bench", "test", "dashboard", "deploy"]

const files = folders.flatMap((folder) => fs.readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => path.posix.join(folder, name)))
  .filter((name) => /\.(?:tsx?|mjs)$/.test(name) && !/\/(?:node_modules|dist[^/]*|packages)\//.test(name))

const nameOf = (file: string): string => path.posix.basename(file).replace(/(?:\.suite|\.test)?\.(?:tsx?|mjs)$/, "")

/** How many files have a name: `http.ts` and `stage.ts` are in many folders. */
const namesakes = new Map<string, number>()
for (const file of files) namesakes.set(nameOf(file).toLowerCase(), (namesakes.get(nameOf(file).toLowerCase()) ?? 0) + 1)

/** The words for a file: its name, of an `index.ts` its folder's. Only where several files have the name, the folder may stand in front. */
const wordsFor = (file: string): ReadonlyArray<string> => {
  const name = nameOf(file)
  const folder = path.posix.basename(path.posix.dirname(file))
  if (name === "index") return [folder]
  return (namesakes.get(name.toLowerCase()) ?? 0) > 1 ? [name, folder + name] : [name]
}

/** Upper and lower case count only at the front: `oauthServer.ts` may be `OAuthServer`. */
const fits = (alias: string, file: string): boolean => {
  const [first] = alias
  return first === first?.toUpperCase() && wordsFor(file).some((word) => word.toLowerCase() === alias.toLowerCase())
}

const importsOf = (file: string, source: string) =>
  [...source.matchAll(/^import (?:type )?\* as (\w+) from "(#|\.{1,2}\/)([^"]+\.tsx?)"/gm)].map(([, alias = "", kind, rest = ""]) =>
    ({ alias, target: kind === "#" ? rest : path.posix.join(path.posix.dirname(file), `${kind}${rest}`) }))

describe("namespace imports", () => {
  it("bear the names of their files", () => {
    expect(files.flatMap((file) => importsOf(file, fs.readFileSync(path.join(root, file), "utf8"))
      .filter(({ alias, target }) => !fits(alias, target)).map(({ alias, target }) => `${file}: ${alias} for ${target}`))).toEqual([])
  })

  it("are seen: a word of another file is refused, a folder's word only where files share a name", () => {
    const [found] = importsOf("src/wire/a.ts", "import * as Items from \"./responses/itemTexts.ts\"")
    expect(found).toEqual({ alias: "Items", target: "src/wire/responses/itemTexts.ts" })
    expect(fits("Items", "src/wire/responses/itemTexts.ts")).toBe(false)
    expect(fits("ItemTexts", "src/wire/responses/itemTexts.ts")).toBe(true)
    expect(fits("ResponsesItemTexts", "src/wire/responses/itemTexts.ts")).toBe(false)
    expect(fits("LeasesStage", "src/features/leases/stage.ts")).toBe(true)
    expect(fits("Responses", "src/wire/responses/index.ts")).toBe(true)
  })
})
