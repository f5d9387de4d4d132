/** Tells by the shape of a frame in which dialect it is written, and has it answered there. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Refusal from "#schemas/api/Refusal.ts"
import { A2aOptions } from "#src/features/a2a/A2aOptions.ts"
import { protocolVersions } from "#src/features/a2a/cards.ts"
import type { Desk } from "#src/features/a2a/Desk.ts"
import * as Documented from "./documented.ts"
import type * as Engine from "./Engine.ts"
import * as Frames from "./frames.ts"

type Version = typeof protocolVersions[number]

const parsed = (text: string): { readonly value: unknown } | null => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return null
  }
}

const idOf = (frame: Record<string, unknown>): Frames.Id => {
  const { id } = frame
  return typeof id === "string" || typeof id === "number" ? id : null
}

/** Methods of version 1.0 are single words; those of 0.3 have a slash. */
const versionOf = (method: unknown): Version => typeof method === "string" && method.includes("/") ? "0.3" : "1.0"

/** `1.0` and `1.0.2` are one version to a client. */
const named = (header: string): Version | null => protocolVersions.find((version) => header === version || header.startsWith(`${version}.`)) ?? null

export const isNewest = (header: string | undefined): boolean => header !== undefined && named(header.trim()) === "1.0"

export interface Asked {
  /** The header A2A-Version. */
  readonly versionHeader: string | undefined
  /** The gateway's address as the client sees it. */
  readonly base: string
}

export const make = Effect.gen(function*() {
  const { heartbeatMs } = yield* A2aOptions
  const beats = { everyMs: heartbeatMs }
  const documented = yield* Documented.make(beats)
  // The SDK is loaded with the first frame that needs it: most gateways serve no agents.
  const engine = yield* Effect.cached(Effect.flatMap(Effect.promise(() => import("./Engine.ts")), ({ make }) => make(beats))).pipe(
    Effect.flatMap((loading) => Effect.map(Effect.context<Effect.Services<typeof loading>>(), (context) => Effect.provideContext(loading, context)))
  )
  const refused = (id: Frames.Id, code: number, message: string) => Effect.succeed(Frames.reply(Frames.error(id, code, message)))

  return (text: string, { base, versionHeader }: Asked, desk: Desk, left: () => void): Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal.Refusal> => {
    const read = parsed(text)
    if (read === null) return refused(null, Frames.codes.parse, "The body is not JSON.")
    const frame = read.value
    if (!Predicate.isReadonlyObject(frame)) return refused(null, Frames.codes.invalidRequest, "The body is one JSON-RPC request: an object.")
    const id = idOf(frame)
    const { jsonrpc, method, params } = frame
    if (jsonrpc !== "2.0" || typeof method !== "string" || method === "") return refused(id, Frames.codes.invalidRequest, "A request has jsonrpc \"2.0\" and a method.")
    if (Documented.isMeant(method, params)) return documented(id, method, params, desk, left)
    const header = versionHeader?.trim() ?? ""
    const wanted = header === "" ? versionOf(method) : named(header)
    if (wanted === null) {
      return refused(id, Frames.codes.unsupportedVersion, `A2A-Version '${header.slice(0, 40)}' is not supported. Supported versions: ${protocolVersions.join(", ")}.`)
    }
    // JSON-RPC lets a caller leave `params` out; the SDK refuses that before it knows the method.
    const whole = params === undefined ? { ...frame, params: {} } : frame
    return Effect.flatMap(engine, (own: Engine.Engine) => own.ask({ frame: whole, id, version: wanted, base }, desk, left))
  }
})
