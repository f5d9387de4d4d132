/** What the operator set for the agent-to-agent server at start. */
import * as Context from "effect/Context"

export class A2aOptions extends Context.Service<A2aOptions, {
  /** GATEWAY_PUBLIC_URL without a slash at its end; null = the address by which a client calls. */
  readonly publicUrl: string | null
  /** A stream that was silent for so long gets a comment, ms; 0 = none. */
  readonly heartbeatMs: number
}>()("gateway/a2a/A2aOptions") {}
