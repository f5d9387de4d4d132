/** What a browser loads: sizes of the built files against their budgets, and whose code is in them. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as zlib from "node:zlib"
import { beforeAll, describe, expect, it } from "vitest"
import { build, folder } from "#test/support/dashboard.ts"

const dist = path.join(folder, "dist")
const kb = 1_000

beforeAll(build)

const sizeOf = (name: string): number => zlib.gzipSync(fs.readFileSync(path.join(dist, "assets", name)), { level: 9 }).length
const names = (): ReadonlyArray<string> => fs.readdirSync(path.join(dist, "assets")).filter((name) => !/\.(?:br|gz)$/.test(name))
const index = (): string => fs.readFileSync(path.join(dist, "index.html"), "utf8")
/** A file and all that it imports before it runs. */
const withImports = (name: string, seen: ReadonlySet<string> = new Set()): ReadonlySet<string> => {
  if (seen.has(name)) return seen
  const text = fs.readFileSync(path.join(dist, "assets", name), "utf8")
  return [...text.matchAll(/(?:import|from)\s*["']\.\/([\w.-]+\.js)["']/g)].reduce<ReadonlySet<string>>((all, [, next]) => withImports(next ?? "", all), new Set([...seen, name]))
}
/** Files that the page itself names: they are loaded before anything is drawn. */
const first = (): ReadonlyArray<string> => [...index().matchAll(/(?:src|href)="\.\/assets\/([^"]+)"/g)].map(([, name]) => name ?? "")
const sum = (list: ReadonlyArray<string>): number => list.reduce((total, name) => total + sizeOf(name), 0)

describe("the built dashboard", () => {
  it("keeps its budgets: shell 125 kB, each screen 45 kB, CSS 15 kB, the overview with all it loads and its windows 250 kB, no font; compressed", () => {
    const scripts = names().filter((name) => name.endsWith(".js"))
    const shell = first().filter((name) => name.endsWith(".js"))
    expect(shell.length).toBeGreaterThan(0)
    expect(sum(shell)).toBeLessThanOrEqual(125 * kb)
    for (const name of scripts.filter((script) => !shell.includes(script))) expect([name, sizeOf(name) <= 45 * kb]).toEqual([name, true])
    expect(sum(names().filter((name) => name.endsWith(".css")))).toBeLessThanOrEqual(15 * kb)
    const overview = scripts.filter((name) => /^(?:Overview|Palette|Help|Curl)-/.test(name))
    expect(overview.length).toBe(4)
    expect(sum([...new Set([...shell, ...overview.flatMap((name) => [...withImports(name)])])])).toBeLessThanOrEqual(250 * kb)
    // Nobody loads all of them at once; a library that comes in by mistake shows here.
    expect(sum(scripts)).toBeLessThanOrEqual(300 * kb)
    expect(names().filter((name) => /\.(?:woff2?|ttf|otf)$/.test(name))).toEqual([])
    expect(first().filter((name) => /\.(?:js|css)$/.test(name)).length).toBeLessThanOrEqual(4)
  })

  it("holds the code of these packages and of none of the server, and gives their licences", () => {
    const licences = fs.readFileSync(path.join(dist, "assets", "licences.txt"), "utf8")
    const packages = [...licences.matchAll(/^((?:@[\w-]+\/)?[\w-]+) \d+\.\d+\.\d+ \(([^)]+)\)$/gm)].map(([, name, licence]) => `${name} ${licence}`)
    expect(packages.sort()).toEqual([
      "@tanstack/history MIT", "@tanstack/query-core MIT", "@tanstack/react-query MIT", "@tanstack/react-router MIT", "@tanstack/react-store MIT", "@tanstack/router-core MIT",
      "@tanstack/store MIT", "react MIT", "react-dom MIT", "scheduler MIT", "use-sync-external-store MIT"
    ])
  })

  it("writes no markup by itself: sources name nothing that turns text into elements or code", () => {
    const below = (place: string): ReadonlyArray<string> => fs.readdirSync(place, { withFileTypes: true }).flatMap((entry) =>
      entry.name.startsWith("dist") ? [] : entry.isDirectory() ? below(path.join(place, entry.name)) : [path.join(place, entry.name)])
    const bad = below(folder).filter((file) => /\.tsx?$/.test(file) && /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|javascript:/i.test(fs.readFileSync(file, "utf8")))
    expect(bad).toEqual([])
  })
})
