/** Rounds of probes through the request path, and what they know of each model, in the document store. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Assessment, type ProbeOutcome } from "./Assessment.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { EvalCalls } from "#src/inference/ports/EvalCalls.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import { managementCatalog } from "#src/routing/models/modelCatalog.ts"
import type { Finished, Scope } from "./api.ts"
import * as Standing from "./standing.ts"

const kind = "assessment"
/** Models that one run may ask. */
const modelsMost = 500
/** Models that are asked at once. */
const parallel = 4
/** ms for one probe. */
const probeMs = 30_000
/** Tokens that an answer may have. */
const maxTokens = 3
/** Characters of an error that are kept. */
const shown = 500

const messages = [{ role: "user", content: "Reply with the word ok." }]

interface Asked {
  readonly id: string
  readonly provider: string
  readonly category: string
}

export class Assessments extends Context.Service<Assessments, {
  /** By model id; models whose provider is gone are left out. */
  readonly results: Effect.Effect<ReadonlyArray<Assessment>, StoreError>
  /** One run at a time in a process. Interrupting it ends it; what it found out by then is kept. */
  readonly run: (scope: Scope) => Effect.Effect<Finished, Refusal.Refusal | StoreError>
}>()("gateway/http/Assessments") {}

const readAssessment = Schema.decodeUnknownOption(Assessment)

const ownerOf = (modelId: string): string => modelId.slice(0, Math.max(0, modelId.indexOf("/")))

const outcomeOf = (status: number, passed: boolean): ProbeOutcome =>
  passed ? "passed" : StatusReason.of(status) === "rate-limit" ? "rate_limited" : "failed"

export const make = Effect.gen(function*() {
  const calls = yield* EvalCalls
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const random = yield* SecureRandom.SecureRandom
  let isRunning = false

  /** Models of active providers that answer conversations. */
  const callable = (): ReadonlyArray<Asked> =>
    Object.entries(managementCatalog(catalogView(configuration.current()))).flatMap(([provider, { active, models }]) =>
      active ? models.flatMap(({ id, type }) => type === "chat" ? [{ id, provider, category: type }] : []) : [])

  const askedBy = (scope: Scope): Effect.Effect<ReadonlyArray<Asked>, Refusal.Refusal> => {
    const snapshot = configuration.current()
    if (scope.type === "model") {
      const listed = callable().find(({ id }) => id === scope.modelId)
      if (listed !== undefined) return Effect.succeed([listed])
      // A provider may serve more than it lists.
      const owner = ownerOf(scope.modelId)
      return owner === "" || knownProvider(snapshot, owner) === null
        ? Effect.fail(Refusal.invalidField("scope.modelId", "Name a model as <provider>/<model>, of a provider that exists"))
        : Effect.succeed([{ id: scope.modelId, provider: owner, category: "chat" }])
    }
    const all = callable()
    if (scope.type === "all") {
      return all.length <= modelsMost
        ? Effect.succeed(all)
        : Effect.fail(Refusal.invalidField("scope.type", `${all.length} models are too many for one run (${modelsMost}): name a provider`))
    }
    const known = knownProvider(snapshot, scope.providerId)
    if (known === null) return Effect.fail(Refusal.invalidField("scope.providerId", unknownProvider(scope.providerId)))
    const own = all.filter(({ provider }) => provider === shownProvider(snapshot, known))
    return own.length <= modelsMost
      ? Effect.succeed(own)
      : Effect.fail(Refusal.invalidField("scope.providerId", `It has ${own.length} models, and one run asks ${modelsMost} at most: name a model`))
  }

  const assessed = Effect.fnUntraced(function*({ category, id, provider }: Asked, lastRunId: string) {
    const { error, latencyMs, status, text } = yield* calls.ask({ model: id, messages, maxTokens, key: null, timeoutMs: probeMs, endpoint: "/api/assess" })
    const lastOutcome = outcomeOf(status, text !== null)
    const before = Option.getOrElse(readAssessment(yield* documents.get(kind, id)), () => Standing.unknown)
    const assessment: Assessment = {
      modelId: id, provider, category, ...Standing.step(before, lastOutcome), lastOutcome, lastStatus: status,
      lastError: text === null ? (error ?? "There was no answer.").slice(0, shown) : null, latencyMs, lastRunId,
      testedAt: new Date(yield* Clock.currentTimeMillis).toISOString()
    }
    yield* documents.put(kind, id, assessment)
    return lastOutcome
  })

  const run = Effect.fn("Assessments.run")(function*(scope: Scope) {
    const asked = yield* askedBy(scope)
    const runId = yield* random.uuidV4()
    const began = yield* Clock.currentTimeMillis
    const outcomes = yield* Effect.forEach(asked, (one) => assessed(one, runId), { concurrency: parallel })
    const count = (outcome: ProbeOutcome): number => outcomes.filter((one) => one === outcome).length
    return {
      run_id: runId, status: "completed" as const, models_tested: outcomes.length, models_passed: count("passed"),
      models_failed: count("failed"), models_rate_limited: count("rate_limited"), duration_ms: Math.round((yield* Clock.currentTimeMillis) - began)
    }
  })

  return Assessments.of({
    results: Effect.map(documents.list(kind), (found) => {
      const snapshot = configuration.current()
      return [...found.values()].flatMap((value) => Option.toArray(readAssessment(value)))
        .filter(({ modelId }) => knownProvider(snapshot, ownerOf(modelId)) !== null)
        .sort((a, b) => a.modelId < b.modelId ? -1 : 1)
    }),
    run: (scope) => Effect.suspend(() => {
      if (isRunning) return Effect.fail(Refusal.conflict("An assessment is under way: wait until it has ended"))
      isRunning = true
      return Effect.ensuring(run(scope), Effect.sync(() => {
        isRunning = false
      }))
    })
  })
})

export const layer = Layer.effect(Assessments, make)
