/** The gateway's own management API, asked inside the process: the same rules and the same audit entries as over a socket. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Caller } from "#schemas/api/Management.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import { ActingCaller } from "#src/management/authentication/Callers.ts"
import { at, type Inner, type Json, textAt, ToolFailure, type Query } from "./Inner.ts"
import { respond } from "./respond.ts"

/** In whose name the API is asked. */
export interface InnerCaller {
  readonly key: ApiKey | null
  readonly acts: Caller
  /** For the key's rules of addresses. */
  readonly address?: string
  /** The credential that the caller presented, and its address, for routes that look at the key itself. */
  readonly presents?: { readonly authorization: string; readonly address: string }
}

const pathOf = (path: string, query: Query | undefined): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? path : `${path}?${search}`
}

const valueOf = (headers: ReadonlyArray<string>, name: string): string | null => {
  const at = headers.findIndex((header, i) => i % 2 === 0 && header.toLowerCase() === name)
  return at < 0 ? null : headers[at + 1] ?? null
}

const parse = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

/** `type`: the content type; a text is told as it is. */
const said = (status: number, text: string, type: string): Effect.Effect<Json, ToolFailure> => {
  const answer = type.startsWith("text/") ? text : parse(text)
  if (StatusReason.isOk(status)) return Effect.succeed(answer)
  const details = at(answer, "error", "details")
  return Effect.fail(new ToolFailure({ code: textAt(answer, "error", "code") || `http_${status}`, message: `${textAt(answer, "error", "message") || `The gateway answered ${status}`}${details === null ? "" : `: ${JSON.stringify(details)}`}` }))
}

/** The answers of one process, for any caller. */
export const make = Effect.gen(function*() {
  const router = yield* HttpRouter.HttpRouter
  const own = yield* OwnCalls
  let served: ReturnType<typeof router.asHttpEffect> | null = null

  return (caller: InnerCaller): Inner => {
    const send: Inner["send"] = (method, path, body, query) => ask(method, path, body, query)
    const ask = (method: string, path: string, body?: Json, query?: Query): Effect.Effect<Json, ToolFailure> => Effect.gen(function*() {
      // Its routes are complete once the gateway serves.
      served ??= router.asHttpEffect()
      const response = yield* Effect.provideService(respond(served, new Request(`http://gateway.internal${pathOf(path, query)}`, {
        method,
        headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...(caller.presents === undefined ? {} : { authorization: caller.presents.authorization }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      }), caller.presents?.address), ActingCaller, caller.acts)
      const web = HttpServerResponse.toWeb(response)
      return yield* said(web.status, yield* Effect.promise(() => web.text()), web.headers.get("content-type") ?? "")
    })
    const infer: Inner["infer"] = (path, body, headers = {}, billed) => Effect.flatMap(
      own.ask({ path, billed, body: JSON.stringify(body), headers: Object.entries(headers).flat(), keyHash: caller.key === null ? null : caller.key.keyHash, address: caller.presents?.address ?? caller.address ?? "" }),
      ({ body: text, headers, status }) => Effect.map(said(status, text, valueOf(headers, "content-type") ?? ""), (answer) => ({ answer, header: (name: string) => valueOf(headers, name) }))
    )
    return { get: (path, query) => ask("GET", path, undefined, query), send, infer }
  }
})
