/**
 * Streamable HTTP, and the older transport with a stream and a second address, over the engine of this node. A session belongs to all
 * nodes: one that meets it for the first time opens it for itself with the stored request. What is streamed goes through the session's
 * messages, so that a client that lost its connection goes on with `Last-Event-ID`, on any node.
 */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Flags } from "#actors/ports/Flags.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { ServerTools } from "#src/inference/ports/ServerTools.ts"
import type * as McpEngine from "./McpEngine.ts"
import type { McpCaller } from "./McpCaller.ts"
import { type McpMessage, type McpSession, McpSessions, OPENING_MAX } from "./ports/McpSessions.ts"

/** A silent stream looks this often whether the gateway stops, and gets a comment after this many looks. */
const LOOK = "1 second"
const KEEP_ALIVE_LOOKS = 15
/** Sessions that this node has opened for itself, and the characters that began them: the engine keeps what they say. */
const OPENED_MAX = 10_000
const OPENED_CHARACTERS = 67_108_864
/** The stream of a session for what belongs to no call. */
const SERVER = "server"
/** What a client is told when the tools of other servers changed, or what its key may use. */
const CHANGED = JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
/** Who reads a stream: as it opened it, and as it is by now; null for one that may not read any more. */
interface Reader {
  readonly caller: McpCaller
  readonly now: Effect.Effect<McpCaller | null, StoreError>
}

interface Reading {
  readonly place: string
  readonly caller: McpCaller
  /** What decided over the list of tools that the client knows. */
  readonly tools: string
  /** Looks without a message. */
  readonly idle: number
}

const eventId = /^([A-Za-z0-9-]{1,40})_([0-9-]{0,40})$/

type Headers = Readonly<Record<string, string | undefined>>
type Response = HttpServerResponse.HttpServerResponse

/** A refusal as the protocol writes it. */
export const frame = (status: number, code: number, message: string): Response =>
  HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", id: null, error: { code, message } }, { status })

const missing = frame(400, -32000, "Bad Request: the header Mcp-Session-Id is missing; send an initialize request first")
const unknown = frame(400, -32000, "Bad Request: no such session; send an initialize request")
const tooLong = frame(413, -32600, `Invalid Request: an initialize request has at most ${OPENING_MAX} characters`)

const inWords = (status: number): readonly [code: number, message: string] => {
  switch (StatusReason.of(status)) {
    case "not-acceptable":
      return [-32000, "Not Acceptable: accept application/json and text/event-stream"]
    case "refused":
      return [-32000, "Unsupported Media Type: send the frame as application/json"]
    default:
      return [-32600, "Invalid Request: send one message; only sessions of version 2025-03-26 take a batch, and none takes initialize in one"]
  }
}

/** The engine refuses some frames without a word. */
const said = (response: Response): Response =>
  StatusReason.isRefusal(response.status) && response.body._tag === "Empty" ? frame(response.status, ...inWords(response.status)) : response

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const member = (value: unknown, name: string): unknown => typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

const isOpening = (message: unknown): boolean => member(message, "method") === "initialize"
const isCancellation = (message: unknown): boolean => member(message, "method") === "notifications/cancelled"

/** A request of the version without sessions says its version in its metadata; one that is no JSON-RPC is for the engine to refuse. */
const needsNoSession = (message: unknown): boolean => {
  const metadata = member(member(message, "params"), "_meta")
  return typeof message !== "object" || message === null || member(message, "method") === "server/discover" ||
    (typeof metadata === "object" && metadata !== null && Object.keys(metadata).some((name) => name.startsWith("io.modelcontextprotocol/")))
}

/** Headers that the engine reads. */
const passed = (headers: Headers): Record<string, string> => {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && (name === "content-type" || name === "accept" || name === "mcp-protocol-version" || name === "mcp-method" || name === "mcp-name" ||
      name.startsWith("mcp-param-"))) kept[name] = value
  }
  return kept
}

const asked = { "content-type": "application/json", accept: "application/json, text/event-stream" } as const
/** The head goes out with the first bytes: a client must not wait for it until there is a message. */
const OPEN = ": open\n\n"
const sse = { headers: { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }, contentType: "text/event-stream" } as const

/** JSON-RPC messages of an event stream. */
const messagesOf = <E>(stream: Stream.Stream<Uint8Array, E>): Stream.Stream<string, E> => stream.pipe(
  Stream.decodeText(), Stream.splitLines, Stream.filter((line) => line.startsWith("data:")), Stream.map((line) => line.slice(5).trim())
)

const rightsOf = (key: ApiKey | null | undefined) => key === null || key === undefined ? null : [key.policy.scopes, key.policy.allowedMcpTools]

export const make = Effect.gen(function*() {
  const flags = yield* Flags
  // Loaded with the first frame: most gateways are never asked for their tools.
  const context = yield* Effect.context<Effect.Services<typeof McpEngine.make>>()
  const loaded = yield* Effect.cached(Effect.provide(Effect.flatMap(Effect.promise(() => import("./McpEngine.ts")), ({ make }) => make), context))
  const engine: McpEngine.Engine = { ask: (request, caller) => Effect.flatMap(loaded, ({ ask }) => Effect.map(ask(request, caller), said)) }
  const lifecycle = yield* Lifecycle
  const servers = yield* ServerTools
  const sessions = yield* McpSessions
  const scope = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  /** The engine's own id of each session here, and what decided over the tools that its client knows; oldest use first. */
  const opened = new Map<string, { readonly local: string; readonly caller: McpCaller; readonly length: number; tools: string }>()
  let openedCharacters = 0
  const toolsOf = ({ key }: McpCaller): string =>
    JSON.stringify([servers.version(), flags.isOn("GATEWAY_MCP_ENFORCE_SCOPES"), rightsOf(key), rightsOf(key?.issuer)])

  const drop = (id: string): void => {
    openedCharacters -= opened.get(id)?.length ?? 0
    opened.delete(id)
  }

  /** `length`: of the request that began it. */
  const keep = Effect.fnUntraced(function*(id: string, local: string, caller: McpCaller, length: number) {
    const tools = opened.get(id)?.tools ?? toolsOf(caller)
    drop(id)
    opened.set(id, { local, caller, length, tools })
    openedCharacters += length
    while (opened.size > OPENED_MAX || openedCharacters > OPENED_CHARACTERS) {
      const [oldest, { local: other, caller: owner }] = opened.entries().next().value as [string, { local: string; caller: McpCaller }]
      drop(oldest)
      yield* engine.ask({ method: "DELETE", headers: { "mcp-session-id": other } }, owner)
    }
  })

  /** The engine's id of a session that was begun on any node. */
  const localOf = Effect.fnUntraced(function*(session: McpSession, caller: McpCaller) {
    const known = opened.get(session.id)
    if (known !== undefined) {
      yield* keep(session.id, known.local, caller, known.length)
      return known.local
    }
    if (session.opening === null) return null
    const response = yield* engine.ask({ method: "POST", headers: asked, body: session.opening }, caller)
    const local = response.headers["mcp-session-id"]
    if (local === undefined) return null
    yield* engine.ask({ method: "POST", headers: { ...asked, "mcp-session-id": local }, body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }) }, caller)
    yield* keep(session.id, local, caller, session.opening.length)
    return local
  })

  // A call may run on another node than the one that hears of its end.
  yield* sessions.hear((id, text) => {
    const known = opened.get(id)
    if (known !== undefined) run(Effect.ignoreCause(engine.ask({ method: "POST", headers: { ...asked, "mcp-session-id": known.local }, body: text }, known.caller)))
  })

  /** The session of a caller; null for one that is gone or another caller's. */
  const own = (id: string, caller: McpCaller) => Effect.map(sessions.find(id), (session) => session === null || session.owner !== caller.owner ? null : session)

  /** Messages of a stream behind a place, as long as the session and its reader's right last and the gateway takes work. The stream of a call ends with it. */
  const reading = (id: string, wanted: string, from: string, reader: Reader, write: (message: McpMessage) => string): Stream.Stream<string, StoreError> =>
    Stream.paginate({ place: from, caller: reader.caller, tools: opened.get(id)?.tools ?? toolsOf(reader.caller), idle: 0 }, ({ caller: before, idle, place, tools }) => Effect.gen(function*() {
      // A key is looked up in memory, other callers in the store; records that cannot be read end no stream.
      const isDue = wanted === SERVER && (before.key !== null || idle % KEEP_ALIVE_LOOKS === 0)
      const caller = isDue ? yield* Effect.orElseSucceed(reader.now, () => before) : before
      if (caller === null) return [[], Option.none<Reading>()] as const
      const toolsNow = toolsOf(caller)
      if (wanted === SERVER && toolsNow !== tools) {
        const known = opened.get(id)
        if (known !== undefined) known.tools = toolsNow
        return [[write({ place, stream: wanted, text: CHANGED })], Option.some<Reading>({ place, caller, tools: toolsNow, idle })] as const
      }
      const next = yield* sessions.next(id)
      const found = yield* sessions.behind(id, place)
      const last = found.at(-1)
      const mine = found.filter(({ stream }) => stream === wanted)
      const end = mine.findIndex(({ text }) => text === null)
      const texts = (end < 0 ? mine : mine.slice(0, end)).map(write)
      if (end >= 0 || lifecycle.draining()) return [texts, Option.none<Reading>()] as const
      if (last !== undefined) return [texts, Option.some({ place: last.place, caller, tools, idle: 0 })] as const
      if (idle % KEEP_ALIVE_LOOKS === 0 && (yield* sessions.find(id)) === null) return [texts, Option.none<Reading>()] as const
      yield* Effect.raceFirst(next, Effect.sleep(LOOK))
      return [(idle + 1) % KEEP_ALIVE_LOOKS === 0 ? [": keepalive\n\n"] : [], Option.some({ place, caller, tools, idle: idle + 1 })] as const
    }))

  const events = (id: string, wanted: string, from: string, reader: Reader): Response =>
    HttpServerResponse.stream(Stream.encodeText(Stream.concat(Stream.make(OPEN), reading(id, wanted, from, reader, ({ place, text }) => `id: ${wanted}_${place}\nevent: message\ndata: ${text ?? ""}\n\n`))), sse)

  /** Keeps what a call streams, to its end; the call goes on when its client is gone. */
  const keeping = (id: string, stream: string, messages: Stream.Stream<string, unknown>) =>
    Effect.forkIn(Stream.runForEach(messages, (text) => sessions.append(id, stream, text)).pipe(
      Effect.catchCause((cause) => Effect.logWarning("a stream of an MCP session broke off", cause)),
      Effect.ensuring(Effect.ignore(sessions.append(id, stream, null)))
    ), scope)

  const post = Effect.fn("McpTransports.post")(function*(headers: Headers, body: string, caller: McpCaller) {
    const message = parsed(body)
    const id = headers["mcp-session-id"]
    const kept = passed(headers)
    if (id === undefined && !isOpening(message)) {
      if (message !== undefined && !needsNoSession(message)) return missing
      return yield* engine.ask({ method: "POST", headers: kept, body }, caller)
    }
    if (id === undefined) {
      if (body.length > OPENING_MAX) return tooLong
      const response = yield* engine.ask({ method: "POST", headers: kept, body }, caller)
      const born = response.headers["mcp-session-id"]
      if (born === undefined) return response
      yield* sessions.put({ id: born, owner: caller.owner, opening: body })
      yield* keep(born, born, caller, body.length)
      return response
    }
    const session = yield* own(id, caller)
    const local = session === null ? null : yield* localOf(session, caller)
    if (local === null) return unknown
    if (isCancellation(message)) yield* sessions.tell(id, body)
    const response = yield* engine.ask({ method: "POST", headers: { ...kept, "mcp-session-id": local }, body }, { ...caller, session: id })
    if (response.body._tag !== "Stream") return response
    const name = Crypto.randomUUID()
    yield* keeping(id, name, messagesOf(response.body.stream))
    return events(id, name, "", { caller, now: Effect.succeed(caller) })
  })

  const open = Effect.fn("McpTransports.open")(function*(headers: Headers, reader: Reader) {
    if (!(headers["accept"] ?? "").includes("text/event-stream")) return frame(406, -32000, "Not Acceptable: accept text/event-stream")
    const id = headers["mcp-session-id"]
    if (id === undefined) return missing
    if ((yield* own(id, reader.caller)) === null) return unknown
    const last = headers["last-event-id"]
    if (last === undefined) return events(id, SERVER, "", reader)
    const match = eventId.exec(last)
    return match === null ? frame(400, -32000, "Bad Request: Last-Event-ID names no event of this session") : events(id, match[1] as string, match[2] as string, reader)
  })

  const end = Effect.fn("McpTransports.end")(function*(headers: Headers, caller: McpCaller) {
    const id = headers["mcp-session-id"]
    if (id === undefined) return missing
    const session = yield* own(id, caller)
    if (session === null) return unknown
    yield* sessions.remove(id)
    const known = opened.get(id)
    drop(id)
    if (known !== undefined) yield* engine.ask({ method: "DELETE", headers: { "mcp-session-id": known.local } }, caller)
    return HttpServerResponse.empty({ status: 204 })
  })

  /** The older transport: the stream names the address for frames, and brings every answer. */
  const openSse = Effect.fn("McpTransports.openSse")(function*(path: string, reader: Reader) {
    const id = Crypto.randomUUID()
    yield* sessions.put({ id, owner: reader.caller.owner, opening: null })
    const address = `event: endpoint\ndata: ${path}?sessionId=${id}\n\n`
    const messages = reading(id, SERVER, "", reader, ({ text }) => `event: message\ndata: ${text ?? ""}\n\n`)
    return HttpServerResponse.stream(Stream.encodeText(Stream.concat(Stream.make(address), messages)).pipe(
      Stream.ensuring(Effect.ignore(sessions.remove(id)))
    ), sse)
  })

  const postSse = Effect.fn("McpTransports.postSse")(function*(id: string | undefined, body: string, caller: McpCaller) {
    const session = id === undefined ? null : yield* own(id, caller)
    if (id === undefined || session === null) return unknown
    const message = parsed(body)
    if (message === undefined) return frame(400, -32700, "Parse error: the body is not JSON")
    const isFirst = isOpening(message) && session.opening === null
    if (isFirst && body.length > OPENING_MAX) return tooLong
    const local = isFirst ? null : yield* localOf(session, caller)
    if (!isFirst && local === null) return frame(400, -32000, "Bad Request: send an initialize request first")
    if (isCancellation(message)) yield* sessions.tell(id, body)
    const answering = Effect.gen(function*() {
      const response = yield* engine.ask({ method: "POST", headers: local === null ? asked : { ...asked, "mcp-session-id": local }, body }, { ...caller, session: id })
      const born = response.headers["mcp-session-id"]
      if (isFirst && born !== undefined) {
        yield* sessions.put({ ...session, opening: body })
        yield* keep(id, born, caller, body.length)
      }
      if (response.body._tag === "Stream") return yield* Stream.runForEach(messagesOf(response.body.stream), (text) => sessions.append(id, SERVER, text))
      if (response.body._tag === "Uint8Array" && response.body.body.length > 0) {
        const text = Buffer.from(response.body.body).toString("utf8").trim()
        const lines = response.headers["content-type"]?.startsWith("text/event-stream") === true
          ? text.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim())
          : [text]
        for (const line of lines) yield* sessions.append(id, SERVER, line)
      }
    })
    yield* Effect.forkIn(Effect.catchCause(answering, (cause) => Effect.logWarning("an MCP frame got no answer", cause)), scope)
    return HttpServerResponse.text("Accepted", { status: 202 })
  })

  return { post, open, end, openSse, postSse }
})
