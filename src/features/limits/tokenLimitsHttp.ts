import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownModel, shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import { TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { type TokenLimitInput, type TokenLimitStatus, TokenLimitsGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { TokenLimit } from "#schemas/records/Limits.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Surface from "#src/management/Surface.ts"

const missing = Effect.fail(Refusal.notFound("Token limit not found"))
const iso = (ms: number): string => new Date(ms).toISOString()

/** As replies show it: a provider by its name. */
const shown = <A extends TokenLimit>(limit: A, snapshot: Snapshot): A => {
  const { scopeType, scopeValue } = limit
  return scopeType === "global" ? limit : { ...limit, scopeValue: scopeType === "provider" ? shownProvider(snapshot, scopeValue) : shownModel(snapshot, scopeValue) }
}

const isProvider = (name: string, { nodeById, nodeByPrefix }: Snapshot): boolean =>
  builtin.byPrefix.has(name) || nodeByPrefix.has(name) || nodeById.has(name)

const isModel = (id: string, { customModels }: Snapshot): boolean =>
  builtin.all.some(({ models }) => models.some((model) => model.id === id)) || customModels.some(({ modelId }) => modelId === id)

/** A model may exist although it is unknown here, and providers may be added later: no reason to refuse. */
const warningOf = ({ scopeType, scopeValue }: TokenLimit, snapshot: Snapshot): string | null => {
  if (scopeType === "global") return null
  if (scopeType === "provider") return isProvider(scopeValue, snapshot) ? null : `No provider has the id, alias or prefix '${scopeValue}': the limit counts nothing until one has.`
  const slash = scopeValue.indexOf("/")
  return isModel(scopeValue, snapshot) || (slash > 0 && isProvider(scopeValue.slice(0, slash), snapshot))
    ? null
    : `No known model has the id '${scopeValue}': the limit counts calls of a model that its provider calls so. Combos and aliases are no models.`
}

export const layer = HttpApiBuilder.group(Surface.make(TokenLimitsGroup), "tokenLimits", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const keys = yield* KeyStore
  const limits = yield* Limits
  const random = yield* SecureRandom.SecureRandom
  const store = yield* TokenLimitStore
  // A change keeps the fields that others change at the same time.
  const locked = (yield* RecordLocks).of("token limits")

  const note = (action: string, { apiKeyId, enabled, id, scopeType, scopeValue, tokenLimit }: TokenLimit) => audit.note({
    action, target: id, resourceType: "token-limit", details: { apiKeyId, scopeType, scopeValue, tokenLimit, enabled }
  })

  /** Each key's ledger is read once for all its limits of one window. */
  const list = Effect.fnUntraced(function*(apiKeyId: string | undefined) {
    const wanted = limits.tokenLimits().filter((limit) => apiKeyId === undefined || limit.apiKeyId === apiKeyId)
    const byKey = Map.groupBy(wanted, (limit) => limit.apiKeyId)
    const views = new Map<string, TokenLimitStatus>()
    for (const [key, own] of byKey) {
      const statuses = yield* limits.status(key, own.map(limits.ruleOf))
      for (const [index, limit] of own.entries()) {
        const status = statuses[index]
        if (status === undefined) continue
        const { end, reserved, start, unsettled, used } = status
        views.set(limit.id, {
          ...shown(limit, configuration.current()), tokensUsed: used, remaining: Math.max(0, limit.tokenLimit - used), percentUsed: Math.round(used / limit.tokenLimit * 10_000) / 100,
          reserved, unsettled, windowStart: iso(start), periodStartAt: iso(start), nextResetAt: iso(end)
        })
      }
    }
    return { limits: wanted.flatMap((limit) => views.get(limit.id) ?? []) }
  })

  const set = Effect.fnUntraced(function*(input: TokenLimitInput) {
    const { scopeType, tokenLimit } = input
    const scopeValue = scopeType === "global" ? "" : input.scopeValue ?? ""
    if (scopeType !== "global" && scopeValue === "") return yield* Effect.fail(Refusal.invalidField("scopeValue", `Required for scopeType ${scopeType}`))
    if (!input.apiKeyId.startsWith("env:") && (yield* keys.get(input.apiKeyId)) === null) return yield* Effect.fail(Refusal.invalidField("apiKeyId", "No such key"))
    const at = iso(yield* Clock.currentTimeMillis)
    const standing = input.id === undefined ? undefined : (yield* store.list).find(({ id }) => id === input.id)
    if (input.id !== undefined && standing === undefined) return yield* missing
    const limit: TokenLimit = {
      id: standing?.id ?? (yield* random.uuidV4()), apiKeyId: input.apiKeyId, scopeType, scopeValue, tokenLimit,
      resetInterval: input.resetInterval ?? standing?.resetInterval ?? "monthly", resetTime: input.resetTime ?? standing?.resetTime ?? "00:00",
      enabled: input.enabled ?? standing?.enabled ?? true, createdAt: standing?.createdAt ?? at, updatedAt: at
    }
    if (standing === undefined) yield* store.insert(limit)
    else if (!(yield* store.replace(limit))) return yield* missing
    return { limit, made: standing === undefined }
  })

  const put = Effect.fn("TokenLimits.put")(function*(input: TokenLimitInput) {
    const { limit, made } = yield* locked(set(input))
    yield* limits.reload
    yield* note(made ? "token-limit.created" : "token-limit.updated", shown(limit, configuration.current()))
    const warning = warningOf(limit, configuration.current())
    return { success: true as const, limit: shown(limit, configuration.current()), ...(warning === null ? {} : { warning }) }
  })

  const remove = Effect.fn("TokenLimits.remove")(function*(id: string) {
    const limit = yield* locked(Effect.gen(function*() {
      const limit = (yield* store.list).find((one) => one.id === id)
      if (limit === undefined || !(yield* store.remove(id))) return yield* missing
      return limit
    }))
    yield* limits.reload
    yield* note("token-limit.deleted", shown(limit, configuration.current()))
    return { success: true as const }
  })

  return handlers.handleAll({
    list: ({ query }) => answer(list(query.apiKeyId)),
    put: ({ payload }) => answer(put(payload)),
    remove: ({ query }) => answer(remove(query.id))
  })
}))
