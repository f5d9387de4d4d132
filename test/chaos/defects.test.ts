/** The request actor when what it stands on throws: the client is answered or cut, nothing stays open, and the defect is heard of. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import type { Target } from "#actors/request/ports/Target.ts"
import type { UpstreamHandler } from "#actors/request/ports/Upstream.ts"
import { RequestActor } from "#actors/request/Request.ts"
import type { Client } from "#actors/request/Inbound.ts"
import type { Services } from "#actors/request/services.ts"
import { once } from "#actors/request/ports/WalkPolicy.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import * as Formats from "#src/wire/formats.ts"

const face = Formats.faceOf(ChatCompletions.client, true)
const dialect = Formats.dialectOf(ChatCompletions.client, ChatCompletions.upstream, { model: "p/m", request: {}, makeId: () => "x", now: () => 1 })

const target: Target = {
  provider: "p", providerAlias: "p", publicModel: "p/m", model: "m", connection: null, wireFormat: "chat-completions", origin: "http://127.0.0.1:1",
  path: "/", streamPath: "/", headers: [], price: null, streamOptions: true, proxy: null, maxOutputTokens: null, reasoning: null, thinking: null
}

/** Runs one request over an upstream that answers by the script; `broken` names the client's method that throws the first time. */
const run = async (stream: boolean, broken: "start" | "write" | "end" | "respond", script: (handler: UpstreamHandler) => void) => {
  const heard: Array<string> = []
  const did: Array<string> = []
  const rows: Array<LedgerRow> = []
  let armed = true
  const act = (name: string, detail = "") => {
    if (armed && name === broken) {
      armed = false
      throw new Error(`broken ${name}`)
    }
    did.push(detail === "" ? name : `${name} ${detail}`)
  }
  const client: Client = {
    start: (status) => act("start", String(status)),
    relay: () => {
      act("write")
      return true
    },
    onDrain: () => undefined,
    end: () => act("end"),
    respond: (status) => act("respond", String(status)),
    close: () => did.push("close")
  }
  const services: Services = {
    ledger: {
      open: (_, opening) => queueMicrotask(() => opening.go(null)), settle: (row) => rows.push(row), journal: () => undefined, flush: () => Effect.succeed(0),
      reconciliation: () => { throw new Error("not asked") }
    },
    credentials: { peek: () => null, token: () => Effect.die("not asked") },
    upstream: {
      dispatch: (_, handler) => {
        queueMicrotask(() => {
          try {
            script(handler)
          } catch {
            // As the real client does: what a handler throws ends the call and is not heard of again.
          }
        })
        return { pause: () => undefined, resume: () => undefined, abort: () => undefined, useful: () => undefined }
      },
      stats: () => []
    },
    resilience: { check: () => null, spent: () => undefined, enter: () => ({ answered: () => undefined, release: () => undefined }) },
    accounting: { cost: () => 0, estimate: () => 1 },
    telemetry: { requestStarted: () => undefined, attemptSettled: () => undefined, requestSettled: () => undefined, render: () => "" },
    limits: { timeouts: { connect: 0, headers: 0, firstEvent: 0, idle: 0, total: 0 }, maxAttempts: 3, drainForUsageMs: 0, pulse: { heartbeatMs: 0, earlyMs: 0 } },
    nodeId: "n", now: () => 1, makeAttemptId: () => "a-1", report: () => undefined,
    defect: (_, cause) => heard.push(String(Cause.squash(cause))),
    closed: () => did.push("closed")
  }
  const actor = new RequestActor(services, {
    requestId: "r-1", client, face, endpoint: "/v1/chat/completions", requestedModel: "p/m", stream, forwardUsage: false, progress: false, recovery: { holds: false, sibling: false, continues: false, stopsAtEmpty: false }, units: null, continuationFor: () => new Uint8Array(), key: null, sessionTag: null,
    targets: [target],
    interceptors: [],
    refusalOf: () => null,
    route: {
      strategy: "single", combo: null, policy: once, lastResort: false, succeeded: () => undefined, finished: null, terminal: (error) => error, line: () => ""
    },
    bodyFor: () => new Uint8Array(), omittedFor: () => [], dialectFor: () => dialect, headersFor: () => [], promptText: () => "", release: () => undefined,
    responseHeaders: () => [], errorHeaders: () => []
  })
  await Effect.runPromiseExit(Effect.timeout(actor.run, 5_000))
  return { did, heard, rows: rows.map((row) => row.outcome) }
}

const json = Buffer.from(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: "x" } }] }))
const frame = Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "x" } }] })}\n\n`)

describe("a defect never leaves a client waiting", () => {
  it("a whole answer whose head is refused becomes a 500", async () => {
    const { did, heard, rows } = await run(false, "respond", (handler) => {
      handler.onHead(200, ["content-type", "application/json"])
      handler.onData(json)
      handler.onEnd()
    })
    expect(did).toEqual(["respond 500", "closed"])
    expect(heard).toEqual(["Error: broken respond"])
    expect(rows).toEqual(["completed"])
  })

  it("a stream whose head is refused becomes a 500, its row says policy", async () => {
    const { did, rows } = await run(true, "start", (handler) => {
      handler.onHead(200, ["content-type", "text/event-stream"])
      handler.onData(frame)
    })
    expect(did).toEqual(["respond 500", "closed"])
    expect(rows).toEqual(["policy"])
  })

  it("a stream that cannot be ended is cut", async () => {
    const { did, heard, rows } = await run(true, "end", (handler) => {
      handler.onHead(200, ["content-type", "text/event-stream"])
      handler.onData(Buffer.concat([frame, Buffer.from("data: [DONE]\n\n")]))
      handler.onEnd()
    })
    expect(did).toEqual(["start 200", "write", "close", "closed"])
    expect(heard).toEqual(["Error: broken end"])
    expect(rows).toEqual(["completed"])
  })

  it("a failing write ends the stream with an error frame and one row", async () => {
    const { did, rows } = await run(true, "write", (handler) => {
      handler.onHead(200, ["content-type", "text/event-stream"])
      handler.onData(frame)
    })
    expect(did).toEqual(["start 200", "end", "closed"])
    expect(rows).toEqual(["policy"])
  })
})
