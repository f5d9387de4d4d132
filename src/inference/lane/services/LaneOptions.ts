/** What an operator sets for the lane when the gateway starts. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type { RequestLimits } from "#actors/request/Inbound.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"

export class LaneOptions extends Context.Service<LaneOptions, {
  readonly limits: RequestLimits
  readonly maxBodyBytes: number
  /** Time that live streams get after a shutdown began, in ms. */
  readonly graceMs: number
  /** Comment lines are allowed in event streams (GATEWAY_SSE_COMMENTS). */
  readonly sseComments: boolean
  /** How often a call may come back to this gateway (GATEWAY_OWN_HOPS). */
  readonly ownHops: number
  /** Model for requests whose budget is used up (GATEWAY_EMERGENCY_FALLBACK_MODEL); null = a free one is looked for. */
  readonly emergencyModel: string | null
  /** The built-in reader of pages asks robots.txt first (GATEWAY_WEB_FETCH_ROBOTS). */
  readonly obeysRobots: boolean
  /** Turns of a request in which the gateway runs tools (GATEWAY_TOOL_LOOP_STEPS). */
  readonly toolLoopSteps: number
}>()("gateway/lane/LaneOptions") {}

/** What one request may take. The time for a whole request, where it is set, bounds the waits within it, too. */
const limitsOf = (settings: Values): RequestLimits => {
  const request = settings.requestTimeoutMs
  return {
    timeouts: {
      connect: settings.connectTimeoutMs,
      headers: request ?? settings.headersTimeoutMs ?? settings.fetchTimeoutMs,
      firstEvent: settings.readinessTimeoutMs,
      idle: request ?? settings.idleTimeoutMs,
      total: settings.totalTimeoutMs
    },
    maxAttempts: settings.maxAttempts,
    pulse: { heartbeatMs: settings.heartbeatMs, earlyMs: settings.earlyKeepAliveMs },
    drainForUsageMs: settings.drainForUsageMs
  }
}

export const layerOf = (settings: Values): Layer.Layer<LaneOptions> => Layer.succeed(LaneOptions, {
  limits: limitsOf(settings),
  maxBodyBytes: settings.maxBodyBytes,
  graceMs: settings.shutdownTimeoutMs,
  sseComments: settings.sseComments,
  ownHops: settings.ownHops,
  emergencyModel: settings.emergencyModel,
  obeysRobots: settings.webFetchRobots === "obey",
  toolLoopSteps: settings.toolLoopSteps
})
