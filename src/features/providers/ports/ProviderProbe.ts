/** Asks an upstream whether a credential works and which models it offers. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { FamilyName } from "#schemas/wire/conversation.ts"

/** What is asked; a stored connection and a credential that is not stored yet look the same. */
export interface Candidate {
  /** Registry id or node id. */
  readonly provider: string
  readonly authType: "apikey" | "oauth" | "none"
  readonly credential: Redacted.Redacted<string> | null
  /** The stored connection, whose proxy the call leaves by; absent: that of the provider. */
  readonly connection?: Pick<Connection, "id" | "proxyEnabled" | "perKeyProxyEnabled">
  /** Instead of the registry row's or the node's base URL. */
  readonly baseUrl?: string | null
  /** Model of the one-token chat. */
  readonly model?: string | null
  /** The format that the model is called in; null or absent = its provider's. */
  readonly family?: FamilyName | null
  readonly providerSpecificData: Readonly<Record<string, unknown>>
  /** `chat` = the model itself is in question: go straight to the one-token chat. */
  readonly wants?: "chat"
  /** A node that is not stored yet. */
  readonly node?: Pick<ProviderNode, "type" | "apiType" | "baseUrl" | "chatPath" | "modelsPath" | "customHeaders">
}

export interface Diagnosis {
  readonly type:
    | "unsupported" | "token_refresh_failed" | "token_expired" | "upstream_auth_error" | "upstream_rate_limited"
    | "upstream_unavailable" | "upstream_error" | "network_error" | "runtime_error"
  readonly source: "validation" | "oauth" | "upstream" | "local"
  readonly code: string
  readonly message: string
}

export interface UpstreamModel {
  readonly id: string
  readonly name: string | null
  /** Tokens, where the list says them; absent otherwise. */
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
}

export interface ProbeResult {
  readonly valid: boolean
  /** HTTP status of the deciding answer; null when none came. */
  readonly statusCode: number | null
  readonly latencyMs: number
  readonly diagnosis: Diagnosis | null
  /** Which probe decided. */
  readonly method: "models" | "chat" | "none" | null
  /** The upstream's list, when it was read. */
  readonly models: ReadonlyArray<UpstreamModel> | null
  /** The URL guard refused the target. */
  readonly blocked: boolean
}

export class ProviderProbe extends Context.Service<ProviderProbe, {
  /** Never fails: every way it can go wrong is a diagnosis. At most 30 s. */
  readonly probe: (candidate: Candidate) => Effect.Effect<ProbeResult>
}>()("gateway/ports/ProviderProbe") {}
