/** Tools of other MCP servers, which the gateway offers and runs: to clients of its own MCP server, and within conversations. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

type Json = Readonly<Record<string, unknown>>

export interface ServerTool {
  /** `<server>__<tool>`: letters, digits, `_` and `-`, 64 at most. */
  readonly name: string
  /** As its server describes it (MCP), under that name. */
  readonly described: Json
}

/** Who calls a tool. `scopes` null: the scopes of the key. */
export interface ToolUser {
  readonly key: ApiKey | null
  readonly isOperator: boolean
  readonly scopes: ReadonlyArray<string> | null
}

export interface ToolProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

export interface ToolOutcome {
  /** An MCP result: `content`, and what else the server gave. A call that failed has `isError` and says why. */
  readonly result: Json
  /** Null for a call that its server answered without an error. */
  readonly errorCode: string | null
}

export class ServerTools extends Context.Service<ServerTools, {
  /** Grows with every change of the tools. */
  readonly version: () => number
  /** Every tool that is there now, for any user. */
  readonly all: () => ReadonlyArray<ServerTool>
  readonly has: (name: string) => boolean
  /** Null, or the code of what the caller lacks. */
  readonly missing: (user: ToolUser, name: string) => string | null
  /** Runs a tool for a caller who may; never fails. Interrupting it cancels the call at the server. */
  readonly call: (user: ToolUser, name: string, args: Json, onProgress?: (progress: ToolProgress) => void) => Effect.Effect<ToolOutcome>
  /** Notes a call that was refused. */
  readonly denied: (user: ToolUser, name: string, code: string) => Effect.Effect<void>
}>()("gateway/inference/ServerTools") {}
