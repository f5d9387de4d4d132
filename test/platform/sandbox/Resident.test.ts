/** A sandbox that stays: what a call leaves behind, and what becomes of one that is lost. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Resident from "#src/platform/sandbox/Resident.ts"
import type { Outcome } from "#src/platform/sandbox/SandboxProcess.ts"
import { sandboxesOf } from "#test/features/skills/lab.ts"
import { eventually } from "#test/support/operator.ts"

const LONG_MS = 60_000
const program = `
globalThis.count = 0
export const then = (resolve) => resolve(globalThis.stolen = typeof resolve.constructor.constructor('return process')())
export const counted = (input, context) => { Object.prototype.left = 'behind'; return { count: ++globalThis.count, left: {}.left, input, context } }
export const left = () => ({ left: {}.left === undefined ? 'nothing' : 'something', stolen: globalThis.stolen === undefined })
export const endless = () => { for (;;); }
export const busy = () => { for (const end = Date.now() + 300; Date.now() < end;); }
export const talkative = () => 'x'.repeat(4e6)
export const late = () => new Promise(() => {})
const foreign = async () => {
  const found = new Set()
  const promise = import('x')
  const left = [promise, await promise.catch((error) => error)]
  const add = (one) => { try { left.push(one()) } catch {} }
  while (left.length > 0) {
    const one = left.pop()
    if ((typeof one !== 'object' && typeof one !== 'function') || one === null || found.has(one)) continue
    found.add(one)
    left.push(Object.getPrototypeOf(one))
    if (typeof one === 'function') for (const made of [() => one([]), () => one({}), () => new one(), () => new one('a')]) add(made)
    for (const key of Reflect.ownKeys(one)) {
      const { get, set, value } = Reflect.getOwnPropertyDescriptor(one, key)
      left.push(get, set, value)
    }
    if (found.size > 5000) break
  }
  return [...found]
}
export const remembers = async () => {
  for (const one of await foreign()) Reflect.defineProperty(one, 'mark', { value: 1 })
  return true
}
export const recalls = async () => (await foreign()).filter((one) => Object.hasOwn(one, 'mark')).map((one) => typeof one === 'function' ? one.name : String(Object.keys(one)))
export const failing = () => { throw new Error('boom') }
export default { inner: async () => 'inner', counted: () => 'never' }
`
let scope: Scope.Closeable
let resident: Resident.Resident
const call = (name: string, timeoutMs = LONG_MS): Promise<Outcome> => Effect.runPromise(resident.call({ name, input: "[1]", context: "{}", timeoutMs }))
const output = async (name: string): Promise<unknown> => {
  const outcome = await call(name)
  return outcome._tag === "Output" ? JSON.parse(outcome.json) : outcome
}
const made = (code: string) => Effect.runPromise(Scope.provide(Resident.make(code, LONG_MS), scope))

beforeAll(async () => {
  scope = Scope.makeUnsafe()
  resident = await made(program)
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

describe("a sandbox that stays", () => {
  it("calls exports by their names, in one process, and nothing of a call is left for the next one", async () => {
    expect(await output("")).toEqual(["busy", "counted", "endless", "failing", "late", "left", "recalls", "remembers", "talkative", "then", "inner", "counted"])
    const [process = 0] = sandboxesOf(globalThis.process.pid)
    for (let i = 0; i < 3; i++) expect(await output("counted")).toEqual({ count: 1, left: "behind", input: [1], context: {} })
    expect(await output("left")).toEqual({ left: "nothing", stolen: true })
    expect(await output("inner")).toBe("inner")
    expect(sandboxesOf(globalThis.process.pid)).toEqual([process])
  }, LONG_MS)

  it("keeps nothing where the engine itself hands objects of its own to a call", async () => {
    expect(await output("remembers")).toBe(true)
    expect(await output("recalls")).toEqual([])
  }, LONG_MS)

  it("answers calls that fail, goes on, and starts anew after one that was lost", async () => {
    expect(await output("failing")).toEqual({ _tag: "Failed", message: "boom" })
    expect(await output("late")).toMatchObject({ _tag: "Failed", message: expect.stringContaining("never answers") })
    expect(await output("toString")).toEqual({ _tag: "Failed", message: "No function toString is exported." })
    const [before] = sandboxesOf(globalThis.process.pid)
    expect(await call("endless", 300)).toEqual({ _tag: "TimedOut" })
    expect(await output("inner")).toBe("inner")
    const [after] = sandboxesOf(globalThis.process.pid)
    expect([after === before, sandboxesOf(globalThis.process.pid).length]).toEqual([false, 1])
    // The process that takes the place of a lost one is not waited for.
    await Effect.runPromise(resident.warm)
    expect(await output("talkative")).toEqual({ _tag: "Failed", message: "The output has more than 262144 characters of JSON." })
    expect(await output("inner")).toBe("inner")
  }, LONG_MS)

  it("takes calls of several at once in turn, refuses more than wait, and ends those that wait too long", async () => {
    const first = call("endless", 1_000)
    const behind = call("inner")
    const impatient = call("inner", 50)
    const more = Array.from({ length: 63 }, () => call("inner"))
    expect((await Promise.all(more)).filter((outcome) => outcome._tag === "Failed" && outcome.message.includes("calls wait"))).toHaveLength(2)
    expect([await first, await impatient, (await behind)._tag]).toEqual([{ _tag: "TimedOut" }, { _tag: "TimedOut" }, "Output"])
  }, LONG_MS)

  it("goes on in the same process when the caller of a call leaves, and gives up calls that wait", async () => {
    resident = await made(program)
    expect(await output("inner")).toBe("inner")
    const before = sandboxesOf(globalThis.process.pid)
    const leaves = (name: string) => Effect.runFork(resident.call({ name, input: "[1]", context: "{}", timeoutMs: LONG_MS }))
    const [runs, waits] = [leaves("busy"), leaves("endless")]
    await Effect.runPromise(Fiber.interruptAll([runs, waits]))
    expect([await output("inner"), sandboxesOf(globalThis.process.pid)]).toEqual(["inner", before])
  }, LONG_MS)

  it("runs modules of the older kind, and says what is wrong with others", async () => {
    resident = await made("exports.twice = ([n]) => n * 2; module.exports.shown = () => typeof require")
    expect([await output(""), await output("twice"), await output("shown")]).toEqual([["twice", "shown"], 2, "undefined"])
    resident = await made("const text = 'an export { of }'; exports.said = () => text")
    expect(await output("said")).toBe("an export { of }")
    // As bundlers write it.
    resident = await made("var n=2,t=([a])=>a*n;export{t as twice};")
    expect([await output(""), await output("twice")]).toEqual([["twice"], 2])
    resident = await made("export const a = ;")
    expect(await output("a")).toMatchObject({ _tag: "Failed", message: "Unexpected token ';'" })
    resident = await made("import fs from 'node:fs'\nexport const a = () => 1")
    expect(await output("a")).toEqual({ _tag: "Failed", message: "A plugin imports nothing." })
  }, LONG_MS)

  it("gives back the memory of each call", async () => {
    resident = await made("const table = Array.from({ length: 4000 }, (_, i) => 'x'.repeat(80) + i)\nexport const size = () => table.length")
    await Effect.runPromise(resident.warm)
    const before = sandboxesOf(globalThis.process.pid)
    for (let i = 0; i < 300; i++) expect(await output("size")).toBe(4000)
    expect(sandboxesOf(globalThis.process.pid)).toEqual(before)
  }, LONG_MS)

  it("ends with its scope", async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await eventually(async () => sandboxesOf(globalThis.process.pid).length, (count) => count === 0, "the end of all sandboxes")
  }, LONG_MS)
})
