/** A tool as data: what it is called, what it needs, and what it does over the gateway's own management API. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { EvalAnswer, EvalQuestion } from "#src/inference/ports/EvalCalls.ts"
import type { ToolScope } from "#src/features/mcp/scopes.ts"

/** Expected: the caller reads it as the tool's result. */
export class ToolFailure {
  readonly _tag = "ToolFailure"
  readonly code: string
  readonly message: string
  constructor(code: string, message: string) {
    this.code = code
    this.message = message
  }
}

export type Json = Schema.Json
export type Query = Readonly<Record<string, string | number | undefined>>

/** The gateway as a tool sees it, in the name of the caller. */
export interface Inner {
  readonly get: (path: string, query?: Query) => Effect.Effect<Json, ToolFailure>
  readonly send: (method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: Json, query?: Query) => Effect.Effect<Json, ToolFailure>
  readonly ask: (question: Omit<EvalQuestion, "key">) => Effect.Effect<EvalAnswer>
}

export interface Tool {
  readonly name: string
  readonly description: string
  /** For GATEWAY_MCP_COMPRESS_DESCRIPTIONS. */
  readonly brief: string
  readonly scopes: ReadonlyArray<ToolScope>
  readonly phase: 1 | 2
  /** `none` = no row; `basic` = a row; `full` = a row with a summary of the result. */
  readonly auditLevel: "none" | "basic" | "full"
  readonly sourceEndpoints: ReadonlyArray<string>
  readonly args: Schema.Top & { readonly DecodingServices: never }
  readonly run: (args: never, inner: Inner) => Effect.Effect<Json, ToolFailure>
}

/** Keeps the arguments and the handler of one tool together. */
export const make = <S extends Schema.Top & { readonly DecodingServices: never }>(
  tool: Omit<Tool, "args" | "run"> & { readonly args: S; readonly run: (args: S["Type"], inner: Inner) => Effect.Effect<Json, ToolFailure> }
): Tool => tool

type Doc = { readonly [name: string]: Json }

/** A member of an answer of the gateway's own, or null. */
export const at = (value: Json, ...path: ReadonlyArray<string>): Json =>
  path.reduce<Json>((from, name) => typeof from === "object" && from !== null && !Array.isArray(from) ? (from as Doc)[name] ?? null : null, value)

export const listAt = (value: Json, ...path: ReadonlyArray<string>): ReadonlyArray<Json> => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export const numberAt = (value: Json, ...path: ReadonlyArray<string>): number => {
  const found = at(value, ...path)
  return typeof found === "number" ? found : 0
}

export const textAt = (value: Json, ...path: ReadonlyArray<string>): string => {
  const found = at(value, ...path)
  return typeof found === "string" ? found : ""
}

/** The members of an object, in their order. */
export const entriesAt = (value: Json, ...path: ReadonlyArray<string>): ReadonlyArray<readonly [string, Json]> => {
  const found = at(value, ...path)
  return typeof found === "object" && found !== null && !Array.isArray(found) ? Object.entries(found as Doc) : []
}
