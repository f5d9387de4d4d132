/** Combos that are not stored: what they would do now, and what they would have done. Nothing is stored, and no provider is asked. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { type CallPlace, UsageStore } from "#actors/ports/UsageStore.ts"
import { Format } from "#schemas/api/Explanation.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import { RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import type { DraftCombo } from "./api.ts"
import * as BackTest from "./backTest.ts"
import { StoredCombos } from "./StoredCombos.ts"

const DAY_MS = 86_400_000
/** Days of the call log that are looked through, and requests that are taken. */
const DAYS = 7
const REQUESTS = 1_000
/** Attempts that are read for them, in pages. */
const ROWS = 4_000
const PAGE = 500
/** Rows that one page looks at. */
const LOOK = 20_000
/** Pages that are read at most: those of a rare combo may be empty. */
const PAGES = 12
/** Requests that are rehearsed before others get a turn. */
const TURN = 50

const isFormat = Schema.is(Format)

/** Strategies that ask several models for one request: past answers say nothing of what another set of models would answer. */
const panels: ReadonlySet<string> = new Set(["fusion", "pipeline", "debate"])

export const make = Effect.gen(function*() {
  const combos = yield* StoredCombos
  const configuration = yield* Configuration
  const keys = yield* Keys
  const stored = yield* KeyStore
  const usage = yield* UsageStore
  const views = yield* RoutingViews

  const keyOf = Effect.fnUntraced(function*(id: string) {
    const record = yield* stored.get(id)
    // With its issuer, whose lists bind it, too.
    return record === null ? null : yield* keys.find(record.keyHash)
  })

  const explain = Effect.fn("Drafts.explain")(function*(input: DraftCombo, { format = "chat-completions", keyId }: { readonly keyId?: string; readonly format?: CallFormat }) {
    const draft = yield* combos.draft(input)
    const key = keyId === undefined ? null : yield* keyOf(keyId)
    if (keyId !== undefined && key === null) return yield* Effect.fail(Refusal.notFound("API key not found"))
    const explained = views.explain(draft.name, key, format, draft)
    if (explained instanceof PublicError) {
      return yield* Effect.fail(Refusal.badRequest(explained.message, { code: explained.code, errorExtra: { ...explained.extra, status: explained.status } }))
    }
    return { model: draft.name, ...explained }
  })

  /** The newest requests of a combo, whole: every attempt of each, first attempt first. */
  const pastOf = Effect.fnUntraced(function*(name: string, since: number, limit: number) {
    const byRequest = new Map<string, Array<LedgerRow>>()
    let after: CallPlace | null = null
    let read = 0
    for (let page = 0; page < PAGES && read < ROWS; page++) {
      const found: { readonly rows: ReadonlyArray<LedgerRow>; readonly next: CallPlace | null } =
        yield* usage.calls({ since, conditions: [{ name: "combo", anyOf: [{ field: "combo", is: [name] }] }] }, { after, limit: PAGE, look: LOOK })
      read += found.rows.length
      for (const row of found.rows) {
        const known = byRequest.get(row.requestId)
        if (known === undefined) byRequest.set(row.requestId, [row])
        else known.push(row)
      }
      after = found.next
      if (after === null || byRequest.size > limit) break
    }
    return Array.from(byRequest.values(), (rows) => rows.sort((a, b) => a.attempt - b.attempt)).slice(0, limit)
  })

  const simulate = Effect.fn("Drafts.simulate")(function*(input: DraftCombo, { days = DAYS, limit = REQUESTS }: { readonly days?: number; readonly limit?: number }) {
    const draft = yield* combos.draft(input)
    if (panels.has(draft.strategy)) return yield* Effect.fail(Refusal.invalidField("combo.strategy", `A ${draft.strategy} asks several models for one answer, which past requests say nothing about`))
    const now = yield* Clock.currentTimeMillis
    // What clients asked for is the name that is stored, if the draft gives it another one.
    const name = input.id === undefined ? draft.name : configuration.current().combos.find(({ id }) => id === input.id)?.name ?? draft.name
    const past = yield* pastOf(name, now - days * DAY_MS, limit)
    const latencies = yield* usage.latencies("model", { since: now - days * DAY_MS, maxRows: LOOK / 2 })
    const route = views.rehearse(draft)
    const test = new BackTest.Rehearsal(new Map(latencies.filter(({ successes }) => successes > 0).map((row) => [BackTest.nameOf(row.provider, row.model ?? ""), row.p50Ms])))
    const known = new Map<string, ApiKey | null>()
    for (const [index, attempts] of past.entries()) {
      if (index > 0 && index % TURN === 0) yield* Effect.yieldNow
      const [first] = attempts
      if (first === undefined) continue
      const { apiKeyId, sourceFormat } = first
      if (apiKeyId !== null && !known.has(apiKeyId)) known.set(apiKeyId, yield* keyOf(apiKeyId))
      const routed = isFormat(sourceFormat) ? route(apiKeyId === null ? null : known.get(apiKeyId) ?? null, sourceFormat) : null
      test.add(attempts, routed === null || routed instanceof PublicError ? null : routed)
    }
    return test.result((provider) => shownProvider(configuration.current(), provider))
  })

  return { explain, simulate }
})
