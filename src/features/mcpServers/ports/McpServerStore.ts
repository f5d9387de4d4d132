/** Records of MCP servers. Addresses are sealed at rest; callers hand over and receive them Redacted. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { McpServer } from "./McpServer.ts"

export class McpServerStore extends Context.Service<McpServerStore, {
  /** By name. */
  readonly list: Effect.Effect<ReadonlyArray<McpServer>, StoreError>
  readonly get: (id: string) => Effect.Effect<McpServer | null, StoreError>
  /** A name that is taken is a conflict. */
  readonly insert: (server: McpServer) => Effect.Effect<void, StoreError>
  /** False when it is gone. */
  readonly replace: (server: McpServer) => Effect.Effect<boolean, StoreError>
  readonly remove: (id: string) => Effect.Effect<boolean, StoreError>
}>()("gateway/mcpServers/McpServerStore") {}
