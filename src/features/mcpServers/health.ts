/** How a server stands on this node, and when it is tried again. Pure. */
import type { McpFailureReason } from "./client/messages.ts"

/** Wait after the first failure, ms; each further one in a row doubles it. */
export const FIRST_WAIT_MS = 500
const MOST_WAIT_MS = 60_000

export interface Problem {
  readonly reason: McpFailureReason
  readonly message: string
}

export type Health =
  /** It is switched off, or this node may not start programs. */
  | { readonly status: "off"; readonly why: string }
  | { readonly status: "connecting"; readonly sinceMs: number }
  | { readonly status: "connected"; readonly sinceMs: number; readonly protocolVersion: string; readonly server: { readonly name: string; readonly version: string } }
  | { readonly status: "failing"; readonly sinceMs: number; readonly failures: number; readonly nextTryMs: number; readonly problem: Problem }

/** Since when it fails is kept from the first failure on; a server that was connected fails anew. */
export const failed = (before: Health, failures: number, problem: Problem, now: number): Health => ({
  status: "failing", failures, problem,
  sinceMs: before.status === "failing" ? before.sinceMs : now,
  nextTryMs: now + Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(20, failures - 1))
})
