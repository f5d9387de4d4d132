/** Rows of the audit of tools: a hash of the arguments, never the arguments. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { databaseSettingsOf, removedBefore, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import { McpAuditStore } from "./McpAuditStore.ts"

const SUMMARY_MAX = 200
/** Between two looks for old rows, ms. */
const PRUNE_EVERY_MS = 3_600_000

export interface Noted {
  readonly toolName: string
  readonly apiKeyId: string | null
  readonly input: unknown
  readonly startedAtMs: number
  /** Null for a call without an error. */
  readonly errorCode: string | null
  readonly isError: boolean
  /** What the row repeats of the result; null = nothing. */
  readonly summary: string | null
}

/** Hash of the arguments; objects with the same members in another order differ. */
const hashOf = (input: unknown): string => Crypto.hash("sha256", JSON.stringify(input) ?? "null", "hex")

/** A row that cannot be stored is logged. */
export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const random = yield* SecureRandom.SecureRandom
  const store = yield* McpAuditStore
  let prunedAt = 0
  return Effect.fnUntraced(function*({ apiKeyId, errorCode, input, isError, startedAtMs, summary, toolName }: Noted) {
    const now = yield* Clock.currentTimeMillis
    yield* store.append({
      id: yield* random.uuidV4(), toolName, inputHash: hashOf(input), outputSummary: summary === null ? null : summary.slice(0, SUMMARY_MAX),
      durationMs: now - startedAtMs, apiKeyId, success: !isError, errorCode, createdAt: new Date(now).toISOString()
    })
    if (now - prunedAt < PRUNE_EVERY_MS) return
    prunedAt = now
    const { retention } = databaseSettingsOf(configuration.current().settings.get(settingKey))
    const before = removedBefore(retention, retention.mcpAudit, now)
    if (before !== null) yield* store.prune(new Date(before).toISOString())
  }, Effect.catch((error) => Effect.logError(`the audit row of an MCP call was not stored: ${error.message}`)))
})
