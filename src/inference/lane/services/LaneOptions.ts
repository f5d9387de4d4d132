/** What an operator sets for the lane when the gateway starts. */
import * as Context from "effect/Context"
import type { Limits } from "#actors/request/Request.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

export class LaneOptions extends Context.Service<LaneOptions, {
  readonly limits: Limits
  readonly maxBodyBytes: number
  /** Time that live streams get after a shutdown began, in ms. */
  readonly graceMs: number
  /** Comment lines are allowed in event streams (GATEWAY_SSE_COMMENTS). */
  readonly sseComments: boolean
  readonly environmentKeys: ReadonlyMap<string, ApiKey>
  /** How often a call may come back to this gateway (GATEWAY_OWN_HOPS). */
  readonly ownHops: number
  /** Model for requests whose budget is used up (GATEWAY_EMERGENCY_FALLBACK_MODEL); null = a free one is looked for. */
  readonly emergencyModel: string | null
}>()("gateway/lane/LaneOptions") {}
