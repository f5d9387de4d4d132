/** A tool as data: what it is called, what it needs, and what it does over the gateway's own management API. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Inner, Json, ToolFailure } from "#src/management/inner/Inner.ts"
import type { BudgetGuard } from "#src/features/mcp/budgetGuard.ts"
import type { ToolScope } from "#src/management/inner/scopes.ts"

/** The gateway as a tool of a session sees it. */
export interface ToolInner extends Inner {
  readonly budget: {
    /** How the session's guard stands; null without one. */
    readonly state: Effect.Effect<Json, ToolFailure>
    readonly set: (guard: BudgetGuard) => Effect.Effect<Json, ToolFailure>
  }
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
  readonly run: (args: never, inner: ToolInner) => Effect.Effect<Json, ToolFailure>
}

/** Arguments of a tool that takes none. */
export const noArguments = Schema.Struct({}).check(Schema.makeFilter((given: object) => Object.keys(given).length === 0, { message: "Expected no arguments" }))

/** Keeps the arguments and the handler of one tool together. */
export const make = <S extends Schema.Top & { readonly DecodingServices: never }>(
  tool: Omit<Tool, "args" | "run"> & { readonly args: S; readonly run: (args: S["Type"], inner: ToolInner) => Effect.Effect<Json, ToolFailure> }
): Tool => tool
