import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { AccessLog } from "#src/platform/telemetry/AccessLog.ts"
import * as Log from "#src/platform/telemetry/Log.ts"
import { LogSink } from "#src/platform/telemetry/LogSink.ts"
import * as Redact from "#src/platform/telemetry/redact.ts"
import { cpuMs } from "#test/support/late.ts"
import { Output, requestSummary } from "./support.ts"

/** Strings that a log must never show; `*` stands for any letters. */
const CANARIES = [
  "sk-proj-CANARY*0123456789", "sk-ant-api03-CANARY*_0123", "gwa_live_CANARY*0123456789", "AIzaCANARY*0123456789", "ghp_CANARY*0123456789",
  "xoxb-CANARY*-0123456789", "eyJCANARY*0123.eyJzdWIiOiIx.c2lnbmF0dXJl", "AKIACANARY*01234567"
] as const

const Letters = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9]{8,24}$/))
const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: CANARIES.length - 1 }))
const canary = (index: number, letters: string): string => CANARIES[index]!.replace("*", letters)

const write = (effect: Effect.Effect<void>, format: Log.LogFormat = "json"): Effect.Effect<Output> =>
  Effect.gen(function*() {
    const output = new Output()
    yield* effect.pipe(Effect.provide(Log.layer({ level: "Debug", format, destination: output })))
    return output
  })

describe("Log", () => {
  it.live("writes one JSON object per event", () =>
    Effect.gen(function*() {
      const output = yield* write(Effect.gen(function*() {
        yield* Effect.logInfo("hello", { b: 2n, when: new Date(0) }).pipe(Effect.annotateLogs({ requestId: "r1" }))
        yield* Effect.logError("failed", Cause.fail(new Error("why\nnow")))
        yield* Effect.logTrace("below the level")
      }))
      const [first, second] = output.lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      assert.strictEqual(output.lines.length, 2)
      assert.deepInclude(first, { level: "info", message: "hello", requestId: "r1", details: [{ b: "2", when: "1970-01-01T00:00:00.000Z" }] })
      assert.include(second!["error"] as string, "why")
      assert.strictEqual(output.writes, 1)
    }))

  it.live("survives values that JSON cannot show", () =>
    Effect.gen(function*() {
      const cycle: Record<string, unknown> = { name: "cycle" }
      cycle["self"] = cycle
      const output = yield* write(Effect.logInfo("odd", cycle, new Map([["k", new Set([1])]]), () => 1, Symbol("s"), Number.NaN, new Uint8Array(3), null, undefined))
      assert.strictEqual(output.lines.length, 1)
      assert.doesNotThrow(() => JSON.parse(output.lines[0]!))
    }))

  for (const format of ["json", "pretty"] as const) {
    it.effect.prop(`no secret appears in a ${format} line, wherever it was put`, [Index, Letters, Letters], ([index, letters, plain]) =>
      Effect.gen(function*() {
        const secret = canary(index, letters)
        const hidden = `hide-${plain}`
        const headers = ["content-type", "application/json", "authorization", `Token ${hidden}`, "x-api-key", hidden]
        const output = yield* write(
          Effect.gen(function*() {
            yield* Effect.logInfo(`calling with ${secret} and more`, { nested: [{ deep: { note: `key=${secret}` } }] })
            yield* Effect.logInfo("by name", { Authorization: hidden, "X-Api-Key": hidden, cookie: hidden, refresh_token: hidden, clientSecret: hidden })
            yield* Effect.logInfo("by type", Redacted.make(hidden), { inside: Redacted.make(hidden) })
            yield* Effect.logInfo("flat headers", { headers })
            yield* Effect.logInfo(`text: authorization: Token ${hidden}`)
            yield* Effect.logInfo(`json: {"x-api-key":"${hidden}","cookie":"a=${hidden}"}`)
            yield* Effect.logInfo(`twice: ${JSON.stringify({ body: JSON.stringify({ authorization: `Bearer ${hidden}` }) })}`)
            yield* Effect.logInfo(`https://user:${hidden}@host/path?key=${hidden}&model=m&access_token=${hidden}`)
            yield* Effect.logError("failed", Cause.fail(new Error(`upstream said: bad key ${secret}`)))
            yield* Effect.logError("cause", new Error("outer", { cause: new Error(`inner ${secret} Bearer ${hidden}`) }))
            yield* Effect.logWarning("annotated")
          }).pipe(Effect.annotateLogs({ apiKey: hidden, url: `https://h/?api_key=${hidden}`, [secret]: 1 })),
          format
        )
        assert.notInclude(output.text, letters)
        assert.notInclude(output.text, plain)
        assert.isAtLeast(output.lines.length, 11)
        if (format === "json") for (const line of output.lines) JSON.parse(line)
      }), { arbitrary: { runs: 60 } })
  }

  it("masks a token wherever it stands, and what begins like one only where it goes on like one", () => {
    for (const [text, shown] of [
      ["x-eyJhbGciOiJI.eyJzdWIi.c2ln z", `x-${Redact.REDACTED} z`], ["eyJub190b2tlbg and eyJhbGciOiJI.eyJz", `eyJub190b2tlbg and ${Redact.REDACTED}`],
      ["eyJhbGciOiJI-sk-abcdefghij1234", `eyJhbGciOiJI-${Redact.REDACTED}`], ["a-eyJhbGciOiJI-eyJhbGciOiJI.eyJz", `a-${Redact.REDACTED}`]
    ] as const) assert.strictEqual(Redact.text(text), shown)
  })

  it.each([
    ["tokens", "-eyJaaaaaaaa"], ["halves of tokens", "eyJaaaaaaaa.aaa "], ["prefixes", "sk-"], ["words of headers", "authorization: \""], ["addresses", "//a:"], ["parameters", "?key"]
  ])("reads a text full of %s in linear time", (_name, part) => {
    assert.isBelow(cpuMs(() => Redact.text(part.repeat(100_000 / part.length))), 500)
  })

  it("leaves ordinary text alone", () => {
    for (const text of [
      "model openai/gpt-4o-mini answered 200", "tokensIn=1234", "skipped-this-one-because-of-a-very-long-name", "key key-1 of tenant prod",
      "risk-assessment-of-the-upstream-pool", "https://api.openai.com/v1/chat/completions?stream=true", "basic authentication is off"
    ]) assert.strictEqual(Redact.text(text), text)
  })
})

describe("LogSink", () => {
  it("collects the lines of a turn into one write", () => {
    const output = new Output()
    let run = () => {}
    const sink = new LogSink({ destination: output, schedule: (f) => (run = f) })
    for (let i = 0; i < 100; i++) sink.write(`line ${i}`)
    assert.strictEqual(output.writes, 0)
    run()
    assert.strictEqual(output.writes, 1)
    assert.strictEqual(output.lines.length, 100)
  })

  it("keeps lines while the output is blocked, drops beyond the bound, says how many, and loses no byte of what it kept", () => {
    const output = new Output()
    const retries: Array<() => void> = []
    const sink = new LogSink({ destination: output, schedule: (run) => run(), later: (run) => retries.push(run), bufferBytes: 1000 })
    output.room = 15
    for (let i = 0; i < 200; i++) sink.write(`line number ${i}`)
    assert.isAbove(sink.dropped, 100)
    assert.isAtMost(sink.bufferedBytes, 1020)
    output.room = 3
    retries.shift()!()
    output.room = Number.POSITIVE_INFINITY
    retries.shift()!()
    const kept = output.lines.filter((line) => line.startsWith("line"))
    assert.deepStrictEqual(kept, kept.map((_, i) => `line number ${i}`))
    assert.strictEqual(kept.length + sink.dropped, 200)
    assert.deepInclude(JSON.parse(output.lines.at(-1)!), { dropped: sink.dropped })
    assert.strictEqual(sink.bufferedBytes, 0)
  })

  it("goes silent when nobody will ever read it", () => {
    const output = new Output()
    output.broken = true
    const sink = new LogSink({ destination: output, schedule: (run) => run() })
    sink.write("one")
    sink.write("two")
    assert.strictEqual(sink.dropped, 2)
    assert.strictEqual(sink.bufferedBytes, 0)
  })

  for (const kind of ["pipe", "socket"] as const) {
    it(`a ${kind} that nobody reads never stops the loop or the exit`, async () => {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), "log-"))
      const fifo = path.join(directory, "fifo")
      if (kind === "pipe") execFileSync("mkfifo", [fifo])
      // Node's own "pipe" is a pair of sockets; what a shell or a container runtime gives is a real one.
      const output = kind === "pipe" ? fs.openSync(fifo, fs.constants.O_RDWR) : "pipe"
      const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", path.join(import.meta.dirname, "chatterbox.ts")], {
        stdio: ["ignore", output, "pipe"]
      })
      // Standard output stays unread until the child has ended; the verdict comes by standard error.
      let verdict = ""
      child.stderr!.setEncoding("utf8").on("data", (text: string) => (verdict += text))
      const code = await new Promise((resolve) => child.on("exit", resolve))
      child.stdout?.destroy()
      if (typeof output === "number") fs.closeSync(output)
      fs.rmSync(directory, { recursive: true })
      assert.strictEqual(code, 0, verdict)
      const { dropped, longestMs } = JSON.parse(verdict) as { dropped: number; longestMs: number }
      assert.isAbove(dropped, 0)
      assert.isBelow(longestMs, 500)
    })
  }
})

describe("AccessLog", () => {
  it("writes models as they are asked for, but no key within them, whatever stands before it", () => {
    const lines: Array<string> = []
    const log = new AccessLog({ every: 1, format: "json", nameOf: (provider) => provider, write: (line) => lines.push(line) })
    const shown = (requestedModel: string): unknown => {
      log.requestSettled(requestSummary({ requestedModel }))
      return (JSON.parse(lines.pop() ?? "") as { requestedModel: unknown }).requestedModel
    }
    for (const model of ["openai/gpt-4o-mini", "qwen2.5:7b", "house/disk-large", "a..b//c-", "/v1", "x".repeat(64), "\u00fcber/m"]) assert.strictEqual(shown(model), model)
    for (const canary of CANARIES) {
      for (const before of ["", "lab/", "a/b/", "a.", "a:", "a-", "/", "//"]) assert.strictEqual(shown(`${before}${canary.replace("*", "x")}`), `${before}${Redact.REDACTED}`, `${before}${canary}`)
    }
  })

  it("samples what succeeded and writes every failure", () => {
    const lines: Array<string> = []
    const log = new AccessLog({ every: 10, format: "json", nameOf: (provider) => provider, write: (line) => lines.push(line) })
    for (let i = 0; i < 100; i++) log.requestSettled(requestSummary({ requestId: `r${i}` }))
    assert.strictEqual(lines.length, 10)
    log.requestSettled(requestSummary({ status: 502, outcome: "upstream-reset", requestedModel: "sk-proj-CANARY0123456789" }))
    assert.strictEqual(lines.length, 11)
    assert.deepInclude(JSON.parse(lines[10]!), { level: "warn", status: 502, requestedModel: Redact.REDACTED })
  })

  it("says which targets failed or were skipped, in one line without secrets", () => {
    const lines: Array<string> = []
    const route = "a/m failed 502 bad_gateway; b/sk-proj-CANARY0123456789 skipped connection-cooldown until 2026-11-22T10:00:00.000Z"
    for (const format of ["json", "pretty"] as const) {
      const log = new AccessLog({ every: 1, format, nameOf: (provider) => provider, write: (line) => lines.push(line) })
      log.requestSettled(requestSummary({ status: 502, route: `${route}\nx` }))
      log.requestSettled(requestSummary({ status: 200 }))
    }
    const told = route.replace("sk-proj-CANARY0123456789", Redact.REDACTED)
    assert.strictEqual((JSON.parse(lines[0]!) as { route: string }).route, `${told}\nx`)
    assert.notProperty(JSON.parse(lines[1]!), "route")
    assert.include(lines[2], `(${told}?x)`)
    assert.notInclude(lines[3], "(")
  })

  it("can be for failures and refusals only: a refused client quotes its request id", () => {
    const lines: Array<string> = []
    const log = new AccessLog({ every: Number.POSITIVE_INFINITY, format: "pretty", nameOf: (provider) => provider, write: (line) => lines.push(line) })
    for (const status of [200, 200, 502, 404]) log.requestSettled(requestSummary({ status }))
    assert.strictEqual(lines.length, 2)
  })

  it("is silent when it is off", () => {
    const log = new AccessLog({ every: 0, format: "pretty", nameOf: (provider) => provider, write: () => assert.fail("wrote") })
    log.requestSettled(requestSummary({ status: 500 }))
  })
})
