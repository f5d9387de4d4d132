/** One call of the management API; a refusal is a `Problem` that says what failed and what to do. */
import type { Answer, Call, Input } from "./contract.ts"
import { urlOf } from "../app/place.ts"
import { gatewayNow } from "./clock.ts"

export interface FieldIssue {
  readonly field: string
  readonly message: string
}

/** Why a call failed. `status` 0: no answer came. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null
  /** The same as a time, ms since the epoch. */
  readonly retryAt: number | null
  readonly details: ReadonlyArray<FieldIssue>

  constructor(message: string, status: number, code: string, more: { readonly requestId?: string | null; readonly retryAfterSeconds?: number | null; readonly details?: ReadonlyArray<FieldIssue> } = {}) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = more.requestId ?? null
    this.retryAfterSeconds = more.retryAfterSeconds ?? null
    this.retryAt = this.retryAfterSeconds === null ? null : gatewayNow() + this.retryAfterSeconds * 1_000
    this.details = more.details ?? []
  }
}

/** Dispatched on `window` when a call says that the session is over, and when the gateway does not answer or answers again. */
export const events = { signedOut: "gateway-signed-out", lost: "gateway-lost", found: "gateway-found" } as const

const tell = (name: string): void => void window.dispatchEvent(new Event(name))

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value)

const text = (value: unknown, otherwise: string): string => typeof value === "string" && value !== "" ? value : otherwise

const issuesIn = (value: unknown): ReadonlyArray<FieldIssue> =>
  Array.isArray(value) ? value.filter(isRecord).map(({ field, message }) => ({ field: text(field, "body"), message: text(message, "") })) : []

export const problemOf = (reply: Response, body: unknown): Problem => {
  const error = isRecord(body) && isRecord(body["error"]) ? body["error"] : {}
  const retryAfter = Number(reply.headers.get("retry-after") ?? Number.NaN)
  return new Problem(text(error["message"], `The gateway answered ${reply.status}.`), reply.status, text(error["code"], String(reply.status)), {
    requestId: isRecord(body) && typeof body["requestId"] === "string" ? body["requestId"] : reply.headers.get("x-request-id"),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
    details: issuesIn(error["details"])
  })
}

/** Any address of the gateway; a network failure is a `Problem` of status 0. */
export const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
  try {
    const reply = await fetch(urlOf(path), { credentials: "same-origin", cache: "no-store", ...init })
    tell(events.found)
    return reply
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    tell(events.lost)
    throw new Problem("The gateway does not answer. It may be restarting, or the network is down.", 0, "unreachable")
  }
}

/** A call's path with its parameters and query in place. Empty values are left out; null is one that is sent empty. */
export const pathOf = (template: string, params: Readonly<Record<string, unknown>>, query: Readonly<Record<string, unknown>>): string => {
  const path = template.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const search = new URLSearchParams(Object.entries(query).flatMap(([name, value]) => value === undefined || value === "" ? [] : [[name, String(value ?? "")]]))
  return search.size === 0 ? path : `${path}?${search}`
}

const unreadable = Symbol("unreadable")

/** The answer of a call with its headers. */
export const replyOf = async <C extends Call>(name: C, input: Input<C> = {}): Promise<{ readonly answer: Answer<C>; readonly headers: Headers }> => {
  const [method = "GET", template = "/"] = name.split(" ")
  const { body, params, query, signal } = input
  const reply = await ask(pathOf(template, params ?? {}, query ?? {}), {
    method,
    ...(signal === undefined ? {} : { signal }),
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
  })
  const said: unknown = await reply.json().catch(() => unreadable)
  if (!reply.ok) {
    if (reply.status === 401 && name !== "POST /api/auth/login") tell(events.signedOut)
    throw problemOf(reply, said)
  }
  if (said === unreadable) {
    throw new Problem("The answer is no JSON. A proxy may have answered in the gateway's place, or the gateway was updated.", reply.status, "unreadable", { requestId: reply.headers.get("x-request-id") })
  }
  // The server renders this value from the schema that the type is made of.
  return { answer: said as Answer<C>, headers: reply.headers }
}

/** `call("PUT /api/providers/:id", { params: { id }, body })`. */
export const call = async <C extends Call>(name: C, input: Input<C> = {}): Promise<Answer<C>> => (await replyOf(name, input)).answer
