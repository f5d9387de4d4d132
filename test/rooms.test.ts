/** The house: every folder has its import rules, folders stay small, and none import each other in a circle. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import { assemblies, rooms } from "../oxlint.config.ts"

const root = path.join(import.meta.dirname, "..")
const sources = ["schemas", "actors", "src", "dashboard"]

const foldersOf = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("dist"))
    .flatMap((entry) => [`${folder}/${entry.name}`, ...foldersOf(`${folder}/${entry.name}`)])

const filesIn = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, folder), { withFileTypes: true }).filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => `${folder}/${entry.name}`)

const folders = sources.flatMap((source) => [source, ...foldersOf(source)])
const files = folders.flatMap(filesIn)
const isIn = (file: string, folder: string): boolean => file.startsWith(`${folder}/`)

/** The row that a folder stands in; a file beside App.ts is an assembly. */
const roomOf = (file: string): string | null =>
  Object.keys(rooms).find((room) => isIn(file, room)) ?? assemblies.find((room) => isIn(file, room)) ?? null

const importsOf = (file: string): ReadonlyArray<string> =>
  [...fs.readFileSync(path.join(root, file), "utf8").matchAll(/(?:from|import)\s*\(?\s*"(#|\.{1,2}\/)([^"]+)"/g)]
    .map(([, kind, rest]) => kind === "#" ? String(rest) : path.posix.join(path.posix.dirname(file), `${kind}${rest}`))

/** The assemblies that are lists: what they do is in the folders that they name. */
const lists = ["src/App.ts", "src/Inference.ts", "src/Management.ts", "src/ManagementApi.ts", "src/Stores.ts", "src/Migrations.ts", "src/features.ts", "src/inferenceRoutes.ts"]

const controlFlow = /\b(?:if|else|for|while|do|switch|case|try|catch|throw)\b|(?<![?.])\?(?![?.:])/g

/** What decides or repeats in a source, without its comments and texts. */
const controlFlowOf = (source: string): ReadonlyArray<string> =>
  source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|"(?:[^"\\]|\\.)*"/g, "").match(controlFlow) ?? []

const mostImports = 25

/** Files that have more imports than they should, and how many: a number here may fall and never rise. */
const crowded: Readonly<Record<string, number>> = { "src/routing/Router.ts": 33 }

/** Lines of a file, with its comments: a longer one hides a second noun. */
const mostLines = 400

describe("the house", () => {
  it("has import rules for every folder with sources", () => {
    const without = files.filter((file) => roomOf(file) === null && path.dirname(file) !== "src")
    expect(without).toEqual([])
  })

  it("has no rule for a folder that is gone", () => {
    expect([...Object.keys(rooms), ...assemblies].filter((room) => !files.some((file) => isIn(file, room)))).toEqual([])
  })

  it("has every room on the map, with the first sentence of a feature", () => {
    const map = fs.readFileSync(path.join(root, "docs/contributing/map.md"), "utf8")
    const lines = new Map([...map.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, room = "", holds = ""]) => [room, holds]))
    const below = (folder: string): ReadonlyArray<string> => foldersOf(folder).filter((inner) => path.posix.dirname(inner) === folder)
    const divided = ["src/platform", "src/inference", "src/management", "src/features"]
    const all = [...["schemas", "actors", ...divided].flatMap(below), ...below("src").filter((room) => !divided.includes(room))]
    expect([...lines.keys()].toSorted()).toEqual(all.toSorted())
    const features = files.filter((file) => /^src\/features\/[^/]+\/feature\.ts$/.test(file))
    expect(features.filter((file) => !fs.readFileSync(path.join(root, file), "utf8").startsWith(`/** ${lines.get(path.posix.dirname(file))} */\n`))).toEqual([])
  })

  it("keeps at most 15 files in a folder", () => {
    expect(folders.filter((folder) => folder !== "src" && filesIn(folder).length > 15).map((folder) => `${folder}: ${filesIn(folder).length}`)).toEqual([])
  })

  it("keeps at most 400 lines in a file", () => {
    const lined = [...files, ...foldersOf("bench").flatMap(filesIn), ...filesIn("bench")].map((file) => ({ file, lines: fs.readFileSync(path.join(root, file), "utf8").trimEnd().split("\n").length }))
    expect(lined.filter(({ lines }) => lines > mostLines).map(({ file, lines }) => `${file}: ${lines}`)).toEqual([])
  })

  it("keeps at most 25 imports in a file; the lists beside App.ts name as many as there are", () => {
    const counted = files.filter((file) => path.dirname(file) !== "src")
      .map((file) => ({ file, count: fs.readFileSync(path.join(root, file), "utf8").match(/^import /gm)?.length ?? 0 }))
      .filter(({ count, file }) => count > mostImports || file in crowded)
    expect(Object.fromEntries(counted.map(({ count, file }) => [file, count]))).toEqual(crowded)
  })

  it("keeps its assemblies lists: nothing in them decides or repeats", () => {
    expect(lists.flatMap((file) => controlFlowOf(fs.readFileSync(path.join(root, file), "utf8")).map((word) => `${file}: ${word}`))).toEqual([])
  })

  it("finds what decides or repeats", () => {
    expect(controlFlowOf("// if\n/** for */ const a = \"while\" + b?.c ?? (settle?: () => void)")).toEqual([])
    expect(controlFlowOf("if (a) for (const b of c) d = e ? f : g")).toEqual(["if", "for", "?"])
  })

  it("lists every feature", () => {
    const listed = fs.readFileSync(path.join(root, "src/features.ts"), "utf8")
    expect(files.filter((file) => file.endsWith("/feature.ts") && !listed.includes(`"#${file}"`))).toEqual([])
  })

  it("has no circle of folders: of two features at most one imports the other, of two layers only the upper one the lower", () => {
    const arrows = new Map<string, Set<string>>()
    for (const file of files) {
      const from = roomOf(file)
      if (from === null || assemblies.includes(from)) continue
      for (const imported of importsOf(file)) {
        const to = roomOf(imported)
        if (to === null || to === from) continue
        const known = arrows.get(from)
        if (known === undefined) arrows.set(from, new Set([to]))
        else known.add(to)
      }
    }
    const circles: Array<string> = []
    const done = new Set<string>()
    const walk = (room: string, trail: ReadonlyArray<string>): void => {
      const at = trail.indexOf(room)
      if (at >= 0) return void circles.push([...trail.slice(at), room].join(" -> "))
      if (done.has(room)) return
      for (const next of arrows.get(room) ?? []) walk(next, [...trail, room])
      done.add(room)
    }
    for (const room of arrows.keys()) walk(room, [])
    expect(circles).toEqual([])
  })
})
