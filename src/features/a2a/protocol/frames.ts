/** JSON-RPC frames and their events. */
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Json } from "#src/management/inner/Inner.ts"

export type Id = string | number | null

/** The documented codes. */
export const codes = {
  parse: -32700, invalidRequest: -32600, unknownMethod: -32601, invalidParams: -32602, internal: -32603,
  disabled: -32000, notFound: -32001, ended: -32002, notAuthorized: -32003, budget: -32004, provider: -32005, unsupportedVersion: -32009
} as const

export const error = (id: Id, code: number, message: string, data?: Json): Json =>
  ({ jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } })

export const result = (id: Id, value: Json): Json => ({ jsonrpc: "2.0", id, result: value })

export const event = (frame: unknown): string => `data: ${JSON.stringify(frame)}\n\n`
export const errorEvent = (frame: unknown): string => `event: error\ndata: ${JSON.stringify(frame)}\n\n`

export const reply = (frame: unknown): HttpServerResponse.HttpServerResponse => HttpServerResponse.jsonUnsafe(frame)

/** How an event stream is answered. */
export const sse = { headers: { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }, contentType: "text/event-stream" } as const
