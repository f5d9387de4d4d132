/** The skill smart-routing: the conversation goes through the request path as the caller's own request, and the answer says how. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as Errors from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Fault } from "#src/features/a2a/ports/A2aTask.ts"
import { MOST_TEXT } from "#src/features/a2a/ports/A2aTask.ts"
import type { AgentAnswer, AgentHead } from "#src/inference/ports/AgentCalls.ts"
import type { Json } from "#src/management/inner/Inner.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as Pricing from "#src/providers/pricing.ts"
import { metadataOf, SkillFailure, type Skilled } from "./Skill.ts"
import type { SkillServices } from "./SkillServices.ts"

const word = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

/** What a client may say beside its messages; other members are its own. */
export const Options = Schema.Struct({
  model: Schema.optionalKey(word),
  combo: Schema.optionalKey(word),
  max_tokens: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))),
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 })))
})
export type Options = typeof Options.Type

/** Automatic routing. */
const DEFAULT_MODEL = "auto"
/** How long the rows of the ledger are waited for, ms. */
const ROWS_MS = 2_000
const MOST_ROWS = 100

const roles: ReadonlySet<string> = new Set(["system", "developer", "user", "assistant"])

/** Errors of the gateway's own limits: nothing went to a provider. */
const ofMoney: ReadonlySet<string> = new Set(["budget_exceeded", "token_limit_exceeded", "rate_limit_exceeded", "insufficient_quota", "payment_required"])

const kindOf = ({ error, status }: AgentAnswer, rows: ReadonlyArray<LedgerRow>): Fault["kind"] => {
  if (rows.length > 0) return "provider"
  if (error !== null && ofMoney.has(error.code)) return "budget"
  switch (StatusReason.of(status)) {
    case "credential":
    case "forbidden":
      return "not_authorized"
    case "payment":
      return "budget"
    case "invalid":
    case "not-found":
    case "not-acceptable":
    case "too-large":
    case "refused":
      return "invalid"
    default:
      return "provider"
  }
}

const usd = (value: number): number => Math.round(value * 1e10) / 1e10

/** Why the first target of the plan would be asked, and what its prompt would cost: USD, or null when no target can be asked. */
const plan = ({ accounting, configuration, views }: SkillServices, asked: string, key: ApiKey | null, text: string, maxTokens: number) => {
  const explained = views.explain(asked, key, "chat-completions")
  if (explained instanceof Errors.PublicError) return { estimated: null, strategy: null }
  const first = explained.targets.find(({ skipped }) => skipped === null)
  if (first === undefined) return { estimated: null, strategy: explained.strategy }
  const snapshot = configuration.current()
  const model = first.model.startsWith(`${first.provider}/`) ? first.model.slice(first.provider.length + 1) : first.model
  const price = Pricing.priceOf(Pricing.viewOf(snapshot), knownProvider(snapshot, first.provider) ?? first.provider, model)
  const cost = price === null ? 0 : (accounting.estimate(text) * (price.input ?? 0) + maxTokens * (price.output ?? 0)) / 1e6
  return { estimated: usd(cost), strategy: explained.strategy }
}

const eventOf = (row: LedgerRow, shown: (provider: string) => string) => ({
  event: row.outcome === "completed" ? "answered" : `failed: ${row.errorCode ?? row.outcome}`, provider: shown(row.provider), timestamp: new Date(row.settledAt).toISOString()
})

/** In whose name it is asked. */
export interface Asker {
  readonly key: ApiKey | null
  readonly head: AgentHead
}

export const make = (services: SkillServices, asker: Asker, options: Options): Skilled => ({
  run: ({ onText, task, textSoFar }) => Effect.gen(function*() {
    const model = options.combo === undefined ? options.model ?? DEFAULT_MODEL : `combo/${options.combo}`
    const { estimated, strategy } = plan(services, model, asker.key, task.messages.map(({ content }) => content).join("\n"), options.max_tokens ?? 0)
    let length = 0
    const enough = yield* Deferred.make<null>()
    const answer = yield* Effect.raceFirst(Deferred.await(enough), services.calls.ask({
      head: asker.head,
      requestId: task.id,
      body: {
        model, messages: task.messages.map(({ content, role }): Json => ({ role: roles.has(role) ? role : role === "agent" || role === "model" ? "assistant" : "user", content })),
        ...(options.max_tokens === undefined ? {} : { max_tokens: options.max_tokens }), ...(options.temperature === undefined ? {} : { temperature: options.temperature })
      },
      onText: (text) => {
        length += text.length
        if (length <= MOST_TEXT) onText(text)
        else Deferred.doneUnsafe(enough, Effect.succeed(null))
      }
    }))
    yield* services.ledger.flush(ROWS_MS)
    const stored = yield* Effect.option(services.usage.rows({ requestId: task.id, limit: MOST_ROWS }))
    const rows = stored._tag === "None" ? [] : [...stored.value].sort((a, b) => a.attempt - b.attempt)
    const actual = stored._tag === "None" ? null : usd(rows.reduce((sum, { costUsd }) => sum + costUsd, 0))
    const made = (routing: string, allowed: boolean, reason: string) => metadataOf({
      routing_explanation: routing, cost_envelope: { estimated, actual, currency: "USD" },
      resilience_trace: rows.map((row) => eventOf(row, services.shownProvider)), policy_verdict: { allowed, reason }
    })
    const failed = (kind: Fault["kind"], message: string) => {
      const isPolicy = kind === "budget" || kind === "not_authorized"
      return Effect.fail(new SkillFailure({ fault: { kind, message }, metadata: made(`${model} was not answered.`, !isPolicy, isPolicy ? message : "The request was admitted.") }))
    }
    if (answer === null) return yield* failed("invalid", `The answer is longer than ${MOST_TEXT} characters.`)
    if (answer.error !== null) return yield* failed(kindOf(answer, rows), answer.error.message)
    const answeredBy = answer.headers["x-gateway-model"] ?? null
    const isCached = answer.headers["x-gateway-cache"] === "HIT"
    const failures = rows.filter(({ outcome }) => outcome !== "completed").length
    return {
      artifacts: [{ name: "answer", type: "text", content: textSoFar() }],
      metadata: made(
        `${model} was answered by ${isCached ? "the cache" : answeredBy ?? "several models"}${strategy === null ? "" : ` (strategy ${strategy})`}${failures === 0 ? "" : ` after ${failures} failed attempts`}.`,
        true, "The request was admitted."
      )
    }
  })
})
