/** What a handler cannot do: the sandbox without a gateway around it. */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { describe, expect, it } from "vitest"
import * as Sandbox from "#src/platform/sandbox/Sandbox.ts"
import * as Seal from "#src/platform/sandbox/seal.ts"
import { eventually } from "#test/support/operator.ts"
import { sandboxesOf } from "./lab.ts"

const LONG_MS = 60_000
const job = (code: string, input: unknown = {}): Sandbox.Job => ({ code, input: JSON.stringify(input), context: "{}" })
const run = (code: string, timeoutMs = LONG_MS) => Effect.runPromise(Sandbox.run(job(code), timeoutMs, Effect.void))
const outputOf = async (code: string): Promise<unknown> => {
  const outcome = await run(code)
  if (outcome._tag !== "Output") throw new Error(JSON.stringify(outcome))
  return JSON.parse(outcome.json)
}

/** Evaluates each expression in one run; what it throws is its answer. */
const attempts = (expressions: Readonly<Record<string, string>>): string =>
  `const found = {}
   const error = await import("node:net").catch((error) => error)
   ${Object.entries(expressions).map(([name, code]) => `try { found[${JSON.stringify(name)}] = await (${code}) } catch (error) { found[${JSON.stringify(name)}] = String(error.message) }`).join("\n")}
   return found`

describe("a handler", () => {
  it("sees the language and nothing else", async () => {
    const names = await outputOf("return Reflect.ownKeys(globalThis).map(String)") as ReadonlyArray<string>
    const strange = ["process", "require", "module", "exports", "global", "fetch", "WebSocket", "EventSource", "Buffer", "setTimeout", "setImmediate", "queueMicrotask",
      "structuredClone", "MessageChannel", "Worker", "navigator", "crypto", "performance", "console", "WebAssembly", "SharedArrayBuffer", "Atomics"]
    expect(names.filter((name) => strange.includes(name))).toEqual([])
    expect(names).toContain("JSON")
  }, LONG_MS)

  it("does not get out of its context by constructors, imports, errors or stacks", async () => {
    const closed = "Code generation from strings disallowed for this context"
    const noImport = "A dynamic import callback was not specified."
    expect(await outputOf(attempts({
      require: "require('fs')",
      import: "import('node:fs').then(() => 'in')",
      binding: "process.binding('tcp_wrap')",
      fetch: "fetch('http://127.0.0.1')",
      own: "globalThis.constructor.constructor('return typeof process')()",
      ofInput: "input.constructor.constructor('return typeof process')()",
      ofContext: "context.constructor.constructor('return typeof process')()",
      ofAsync: "(async () => {}).constructor('return typeof process')()",
      ofEval: "(0, eval)('typeof process')",
      caller: "(function inner() { return inner.caller })()",
      // The engine's own error comes from the other realm.
      isForeign: "!(error instanceof Error) && error.constructor.name",
      ofError: "error.constructor.constructor('return process')()",
      ofErrorEval: "Object.getPrototypeOf(error.constructor).constructor('return process')()",
      stack: `(async () => {
        const seen = []
        for (const Kind of [Error, TypeError, error.constructor, Object.getPrototypeOf(error.constructor)]) {
          Reflect.set(Kind, 'prepareStackTrace', (_, sites) => sites.map((site) => seen.push(typeof site.getThis(), typeof site.getFunction())))
        }
        try { null.x } catch (inner) { inner.stack }
        await import('x').catch((inner) => inner.stack)
        return [...new Set(seen)].filter((type) => type !== 'undefined' && type !== 'function').join()
      })()`,
      polluted: `(async () => {
        const seen = new Set()
        const root = Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf(error)))
        const top = Object.getPrototypeOf(root) ?? root
        for (const name of ['get', 'set', 'env', 'process', 'require', 'then', 'fd', 'path', 'signal', 'highWaterMark']) {
          Object.defineProperty(top, name, { configurable: true, get() { if (typeof this.kill === 'function' || typeof this.binding === 'function') seen.add(name); return undefined } })
        }
        await import('y').catch(() => {})
        return [...seen].join()
      })()`
    }))).toEqual({
      require: "require is not defined", import: noImport, binding: "process is not defined", fetch: "fetch is not defined", own: "undefined", ofInput: "undefined",
      ofContext: "undefined", ofAsync: "undefined", ofEval: "undefined", caller: expect.stringContaining("'caller', 'callee'"), isForeign: "TypeError",
      ofError: closed, ofErrorEval: closed, stack: "", polluted: expect.stringContaining("not extensible")
    })
  }, LONG_MS)

  it("is ended when it takes too much memory, within the heap or beside it", async () => {
    expect(await run("const all = []; for (;;) all.push(new Array(4e6).fill(1.5))")).toMatchObject({ _tag: "Failed", message: expect.stringContaining("more than 256 MB") })
    const outcome = await run("const all = []; for (let mb = 0;; mb += 8) { try { all.push(new Uint8Array(8 * 1024 * 1024).fill(1)) } catch { return mb } }")
    const mb = outcome._tag === "Output" ? Number(outcome.json) : 0
    expect(mb).toBeLessThanOrEqual(256)
  }, 3 * LONG_MS)

  it("is a module where it exports, also behind other statements, and not where a text says so", async () => {
    expect(await outputOf("const handler=async({n=2})=>n*2;export{handler as default};")).toBe(4)
    expect(await outputOf("return `\nexport default 1\n`.trim()")).toBe("export default 1")
    expect(await run("// export it\nreturn (")).toMatchObject({ _tag: "Failed", message: expect.stringContaining("Unexpected token") })
  }, LONG_MS)

  it("cannot say more than is read", async () => {
    expect(await run("return 'x'.repeat(1e6)")).toEqual({ _tag: "Failed", message: "The output has more than 262144 characters of JSON." })
    expect(await run(`return 'x'.repeat(${Sandbox.OUTPUT_MAX - 2})`)).toMatchObject({ _tag: "Output" })
    expect(await run(`return 'ü'.repeat(${Sandbox.OUTPUT_MAX - 1})`)).toMatchObject({ _tag: "Failed" })
  }, LONG_MS)

  it("ends in time, asleep or awake, and its process is reaped", async () => {
    for (const code of ["for (;;);", "for (;;) await null", "export default await (async () => { for (;;) await null })()"]) {
      expect(await run(code, 300)).toEqual({ _tag: "TimedOut" })
      expect(sandboxesOf(process.pid)).toEqual([])
    }
  }, LONG_MS)

  it("ends with its caller", async () => {
    const fiber = Effect.runFork(Sandbox.run(job("for (;;);"), LONG_MS, Effect.void))
    await eventually(async () => sandboxesOf(process.pid).length, (count) => count === 1, "a sandbox")
    await Effect.runPromise(Fiber.interrupt(fiber))
    expect(sandboxesOf(process.pid)).toEqual([])
  }, LONG_MS)

  it("has a process without variables, secrets or files of the gateway, which may open nothing", async () => {
    process.env["SKILLS_TEST_SECRET"] = "a-secret-of-the-gateway"
    const fiber = Effect.runFork(Sandbox.run(job("for (;;);"), LONG_MS, Effect.void))
    try {
      const limitsOf = (pid: number): string => fs.readFileSync(`/proc/${pid}/limits`, "utf8")
      const pid = (await eventually(async () => sandboxesOf(process.pid).filter((one) => /^Max open files +0 +0 /m.test(limitsOf(one))), (found) => found.length === 1, "a closed sandbox"))[0] ?? 0
      expect(fs.readFileSync(`/proc/${pid}/environ`, "utf8")).toBe("")
      expect(fs.readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain("a-secret-of-the-gateway")
      expect(fs.readlinkSync(`/proc/${pid}/cwd`)).toBe("/")
      expect(fs.readFileSync(`/proc/${pid}/status`, "utf8")).toMatch(/^NoNewPrivs:\s+1$/m)
      for (const limit of ["Max open files", "Max processes", "Max file size", "Max core file size"]) expect(limitsOf(pid)).toMatch(new RegExp(`^${limit} +0 +0 `, "m"))
    } finally {
      delete process.env["SKILLS_TEST_SECRET"]
      await Effect.runPromise(Fiber.interrupt(fiber))
    }
  }, LONG_MS)
})

/** A program with all of Node in its hands: once before, and once after the line that says it is closed. */
const bare = `
  const net = require("node:net"), fs = require("node:fs"), dgram = require("node:dgram"), { spawnSync } = require("node:child_process")
  const [port, socket] = process.argv.slice(1)
  const connect = (to) => new Promise((done) => { const one = net.connect(to); one.once("connect", () => { one.destroy(); done("connected") }); one.once("error", (error) => done(error.code)) })
  const caught = (work) => { try { return work() ?? "done" } catch (error) { return error.code } }
  const look = async () => console.log(JSON.stringify({
    tcp: await connect({ port: Number(port), host: "127.0.0.1" }), unix: await connect(socket), file: caught(() => fs.closeSync(fs.openSync("/etc/hostname"))),
    program: caught(() => { const { error } = spawnSync("/bin/true"); if (error) throw error }),
    udp: await new Promise((done) => { try { const one = dgram.createSocket("udp4"); one.once("error", (error) => done(error.code)); one.bind(0, "127.0.0.1", () => { one.close(); done("bound") }) } catch (error) { done(error.code) } }),
    reached: await fetch("http://127.0.0.1:" + port).then(() => "answered", () => "failed")
  }))
  look(); process.stdin.on("data", () => { try { fs.closeSync(12); fs.closeSync(13) } catch {} look() })
`

describe("the kernel", () => {
  it("opens nothing for a closed process, even when its code has all of Node", async () => {
    let met = 0
    const server = net.createServer((socket) => {
      met++
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
      socket.on("error", () => {})
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "sealed-")), "s")
    const local = net.createServer(() => met++).listen(file)
    const address = server.address()
    const child = spawn(process.execPath, ["-e", bare, String(typeof address === "object" && address !== null ? address.port : 0), file], { stdio: ["pipe", "pipe", "inherit"], env: {} })
    let text = ""
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString()
    })
    const line = async (index: number) => JSON.parse((await eventually(async () => text.split("\n"), (lines) => lines.length > index + 1, "a line"))[index] ?? "") as Record<string, unknown>
    try {
      expect(await line(0)).toEqual({ tcp: "connected", unix: "connected", file: "done", program: "done", udp: "bound", reached: "answered" })
      const before = met
      await Effect.runPromise(Seal.close(child.pid ?? 0, { memoryBytes: 256 * 1_024 * 1_024, cpuSeconds: 60 }))
      child.stdin.write("\n")
      const after = await line(1)
      expect(after).toEqual({ tcp: "EMFILE", unix: "EMFILE", file: "EMFILE", program: expect.stringMatching(/EMFILE|EAGAIN/), udp: "EMFILE", reached: "failed" })
      expect(met).toBe(before)
    } finally {
      child.kill("SIGKILL")
      server.close()
      local.close()
    }
  }, LONG_MS)

  it("is asked before a handler runs: a process that cannot be closed is refused", async () => {
    const refused = await Effect.runPromise(Effect.flip(Seal.close(2 ** 30, { memoryBytes: 1, cpuSeconds: 1 })))
    expect(refused).toMatchObject({ _tag: "Unsealed", message: expect.stringContaining("/proc/<pid>/status") })
  })
})
