/** What a key may do, as a sentence. */
import type { Answer } from "../../api/contract.ts"
import { money } from "../../format/numbers.ts"

export type Key = Answer<"GET /api/keys">["keys"][number]

const listed = (names: ReadonlyArray<string>): string => names.length <= 3 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`

export const sentenceOf = (key: Key): string => {
  const models = key.modelAccessMode === "restricted" ? key.allowedModels.length + key.allowedCombos.length === 0 ? "no model" : listed([...key.allowedModels, ...key.allowedCombos]) : "any model"
  const bounds = [
    key.blockedModels.length === 0 ? null : `but not ${listed(key.blockedModels)}`,
    key.connectionAccessMode === "restricted" ? `over ${key.allowedConnections.length} connections` : null,
    key.maxRequestsPerMinute === null ? null : `${key.maxRequestsPerMinute} requests a minute`,
    key.maxRequestsPerDay === null ? null : `${key.maxRequestsPerDay} requests a day`,
    key.usageLimitEnabled && key.dailyUsageLimitUsd !== null ? `${money(key.dailyUsageLimitUsd)} a day` : null,
    key.expiresAt === null ? null : `until ${key.expiresAt.slice(0, 10)}`,
    key.scopes.length === 0 ? null : `with scope ${listed(key.scopes)}`
  ].filter((bound) => bound !== null)
  return `May ask ${[models, ...bounds].join(", ")}.`
}
