/** The gateway's own management API as code inside the process sees it, and the members of its answers. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** Expected: the caller reads it as the tool's result. */
export class ToolFailure extends Schema.TaggedError<ToolFailure>()("ToolFailure", { code: Schema.String, message: Schema.String }) {}

export type Json = Schema.Json
export type Query = Readonly<Record<string, string | number | undefined>>

/** What an inference endpoint answered. */
export interface Inferred {
  readonly answer: Json
  /** A header of it by its lower-case name, or null. */
  readonly header: (name: string) => string | null
}

/** The gateway as a tool sees it, in the name of the caller. */
export interface Inner {
  readonly get: (path: string, query?: Query) => Effect.Effect<Json, ToolFailure>
  readonly send: (method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: Json, query?: Query) => Effect.Effect<Json, ToolFailure>
  /**
   * A request to an inference endpoint, with the limits, budgets and rows of the caller's key. `headers` by their lower-case names;
   * `billed` is told once what it cost in USD, however it ended.
   */
  readonly infer: (
    path: string, body: Json, headers?: Readonly<Record<string, string>>, billed?: (costUsd: number) => void
  ) => Effect.Effect<Inferred, ToolFailure>
}

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
