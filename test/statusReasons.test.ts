/** What a status says is read in one file: core code branches on reasons, and writes numbers only into replies and records. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import * as StatusReason from "#schemas/statusReason.ts"

const root = path.join(import.meta.dirname, "..")
const folders = ["actors", "src/inference", "src/routing", "src/features"]

/** Files that may compare a status with a number, and why. */
const allowed: Readonly<Record<string, string>> = {
  "actors/request/steps/attemptFailure.ts": "the upstream's edge: a status that an error object claims must be one"
}

const comparisons = [
  /status(?:Code)?\)?\s*(?:[!=]==?|[<>]=?)\s*[1-5]\d\d\b/i,
  /\b[1-5]\d\d\s*(?:[!=]==?|[<>]=?)\s*[\w.]*status/i,
  /\bcase [2-5]\d\d\b/,
  /\[[45]\d\d(?:, [45]\d\d)*\]/
]

const linesIn = (folder: string): ReadonlyArray<readonly [file: string, line: string]> =>
  fs.readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`)
    .flatMap((file) => fs.readFileSync(path.join(root, file), "utf8").split("\n").map((line) => [file, line.trim()] as const))

describe("a status", () => {
  it("is compared with numbers in no core file but those that are named here", () => {
    const found = folders.flatMap(linesIn).filter(([, line]) => comparisons.some((comparison) => comparison.test(line)))
    expect(found.filter(([file]) => allowed[file] === undefined).map(([file, line]) => `${file}: ${line}`)).toEqual([])
    expect(new Set(found.map(([file]) => file))).toEqual(new Set(Object.keys(allowed)))
  })

  it.each([
    [0, "none"], [100, "unexpected"], [200, "ok"], [204, "ok"], [302, "redirect"], [400, "invalid"], [401, "credential"], [402, "payment"], [432, "payment"], [433, "payment"], [403, "forbidden"],
    [404, "not-found"], [405, "wrong-method"], [406, "not-acceptable"], [408, "request-timeout"], [409, "refused"], [413, "too-large"], [422, "invalid"],
    [429, "rate-limit"], [499, "refused"], [500, "failed"], [501, "not-implemented"], [502, "bad-gateway"], [503, "unavailable"], [504, "gateway-timeout"],
    [507, "storage-full"], [529, "overloaded"], [599, "server"]
  ] as const)("%s says %s", (status, reason) => {
    expect(StatusReason.of(status)).toBe(reason)
  })

  it("is an answer, a refusal, the server's failure, or none of them", () => {
    const all = Array.from({ length: 600 }, (_, status) => status)
    const those = (is: (status: number) => boolean) => all.filter(is)
    expect(those(StatusReason.isOk)).toEqual(all.slice(200, 300))
    expect(those(StatusReason.isUnchanged)).toEqual([304])
    expect(those(StatusReason.isRefusal)).toEqual(all.slice(400, 500))
    expect(those(StatusReason.isServers)).toEqual(all.slice(500))
    expect(those(StatusReason.isPassing)).toEqual([429, ...all.slice(500)])
    expect(those(StatusReason.isRequests)).toEqual([400, 413, 422])
    expect(those(StatusReason.isMissing)).toEqual([404, 405, 501])
  })
})
