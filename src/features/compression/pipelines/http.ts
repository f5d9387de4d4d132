import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { compressionOf, settingKey as compressionKey } from "#schemas/words/Compression.ts"
import { builtInId, type Pipeline, pipelinesOf, settingKey } from "#schemas/words/CompressionPipeline.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { type NewPipeline, type PipelineChange, PipelinesGroup } from "./api.ts"
import * as Pipelines from "./pipelines.ts"

type All = ReadonlyArray<Pipeline>

const given = <A>(found: A | Refusal.Refusal): Effect.Effect<A, Refusal.Refusal> => found instanceof Refusal.Refusal ? Effect.fail(found) : Effect.succeed(found)

const viewOf = (pipeline: Pipeline) => ({ ...pipeline, isBuiltIn: pipeline.id === builtInId })

export const layer = HttpApiBuilder.group(Surface.make(PipelinesGroup), "compressionCombos", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const random = yield* SecureRandom.SecureRandom

  const settings = () => compressionOf(configuration.current().settings)
  const knows = (id: string): boolean => configuration.current().combos.some((combo) => combo.id === id)
  /** Combos that are gone are assigned to nothing. */
  const all = (): All => pipelinesOf(configuration.current().settings, settings()).map((one) => ({ ...one, routingComboIds: one.routingComboIds.filter(knows) }))
  const find = (id: string) => Effect.suspend(() => given(Pipelines.find(all(), id)))

  /** Read under the writer's lock: two changes at once both stand. */
  const commit = (change: (all: All) => All | Refusal.Refusal) => configuration.commit(Effect.gen(function*() {
    const before = settings()
    const after = yield* given(change(all()))
    const pipeline = after.find(({ id }) => id === builtInId)?.pipeline ?? before.stackedPipeline
    if (pipeline !== before.stackedPipeline) yield* documents.put("setting", compressionKey, { ...before, stackedPipeline: pipeline })
    yield* documents.put("setting", settingKey, after)
  }))
  const checked = (steps: Pipeline["pipeline"] | undefined) => {
    const issues = steps === undefined ? [] : Pipelines.issuesIn(steps, "pipeline", { rtk: settings().rtkConfig, trusted: false })
    return issues.length === 0 ? Effect.void : Effect.fail(Refusal.invalidFields(issues))
  }
  const note = (action: string, id: string) => audit.note({ action: `compression.combo.${action}`, target: id, resourceType: "compression-combo" })
  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

  const create = Effect.fn("Pipelines.create")(function*(input: NewPipeline) {
    const making = { id: yield* random.uuidV4(), now: yield* now }
    yield* checked(input.pipeline)
    yield* commit((before) => Pipelines.added(before, input, making))
    yield* note("created", making.id)
    return viewOf(yield* find(making.id))
  })
  const update = Effect.fn("Pipelines.update")(function*(id: string, change: PipelineChange) {
    const at = yield* now
    yield* checked(change.pipeline)
    yield* commit((before) => Pipelines.changed(before, id, change, at))
    yield* note("updated", id)
    return viewOf(yield* find(id))
  })
  const remove = Effect.fn("Pipelines.remove")(function*(id: string) {
    yield* commit((before) => Pipelines.without(before, id, settings().compressionComboId))
    yield* note("deleted", id)
    return { success: true as const }
  })
  const assignments = (id: string) => Effect.map(find(id), ({ routingComboIds }) => {
    const names = new Map(configuration.current().combos.map((combo) => [combo.id, combo.name]))
    return { assignments: routingComboIds.map((routingComboId) => ({ compressionComboId: id, routingComboId, routingComboName: names.get(routingComboId) ?? "" })) }
  })
  const assign = Effect.fn("Pipelines.assign")(function*(id: string, routingComboIds: ReadonlyArray<string>) {
    yield* commit((before) => Pipelines.assigned(before, id, routingComboIds, knows))
    yield* note("assigned", id)
    return yield* assignments(id)
  })

  return handlers.handleAll({
    list: () => Effect.sync(() => ({ combos: all().map(viewOf) })),
    create: ({ payload }) => answer(create(payload)),
    get: ({ params }) => answer(Effect.map(find(params.id), viewOf)),
    update: ({ params, payload }) => answer(update(params.id, payload)),
    remove: ({ params }) => answer(remove(params.id)),
    assignments: ({ params }) => answer(assignments(params.id)),
    assign: ({ params, payload }) => answer(assign(params.id, payload.routingComboIds))
  })
}))
