import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Result from "effect/Result"
import { Configuration } from "#actors/ports/Configuration.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Connections } from "#src/features/providers/ports/Connections.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { type Imported, TransferGroup } from "./api.ts"
import * as Document from "./document.ts"
import { exported } from "./exported.ts"
import type { Action, Draft } from "./plan/Draft.ts"
import * as Plan from "./plan/plan.ts"
import * as Writing from "./writing.ts"

/** Names of an audit entry. */
const NAMED = 100

const summaryOf = ({ entries }: Draft): Imported["summary"] => {
  const count = (action: Action): number => entries.filter((entry) => entry.action === action).length
  return { created: count("created"), changed: count("changed"), unchanged: count("unchanged"), leftOut: count("left_out") }
}

const changedMeanwhile = Refusal.conflict("The configuration was changed while the document was checked; nothing was written. Send it again", { code: "changed_since" })

export const layer = HttpApiBuilder.group(Surface.make(TransferGroup), "transfer", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const connections = yield* Connections
  const random = yield* SecureRandom.SecureRandom
  const write = yield* Writing.make

  const take = Effect.fn("Transfer.import")(function*(body: unknown, dryRun: boolean) {
    const read = Document.read(body)
    if (Result.isFailure(read)) return yield* Effect.fail(Refusal.invalidFields(read.failure))
    const document = read.success
    const ids = yield* Effect.replicateEffect(random.uuidV4(), Plan.idsOf(document))
    const now = new Date(yield* Clock.currentTimeMillis).toISOString()
    const planned = Effect.suspend(() => {
      let next = 0
      const draft = Plan.make(document, configuration.current(), { now, makeId: () => ids[next++] ?? "" })
      return draft.issues.length === 0 ? Effect.succeed(draft) : Effect.fail(Refusal.invalidFields(draft.issues.slice(0, NAMED)))
    })
    const first = yield* planned
    // The URL guard asks the network, which must not hold up other commits.
    for (const { field, url } of first.addresses) yield* connections.checkUrl(url, field)
    if (dryRun) return first
    const allowed = new Set(first.addresses.map(({ url }) => url))
    const done = yield* configuration.commit(Effect.gen(function*() {
      // Under the writer's lock, so that nothing changes between the plan and what is written.
      const draft = yield* planned
      if (draft.addresses.some(({ url }) => !allowed.has(url))) return yield* Effect.fail(changedMeanwhile)
      yield* write(draft.writes)
      return draft
    }))
    const changed = done.entries.filter(({ action }) => action === "created" || action === "changed")
    yield* audit.note({
      action: "configuration.imported", resourceType: "configuration",
      details: { ...summaryOf(done), records: changed.slice(0, NAMED).map(({ action, name, section }) => `${section} ${name} ${action}`) }
    })
    return done
  })

  return handlers.handleAll({
    export: () => Effect.tap(Effect.sync(() => exported(configuration.current())), () => audit.note({ action: "configuration.exported", resourceType: "configuration" })),
    import: ({ payload, query: { dryRun = "0" } }) => {
      const isDry = dryRun === "1" || dryRun === "true"
      return answer(Effect.map(take(payload, isDry), (draft): Imported => ({ success: true, dryRun: isDry, summary: summaryOf(draft), entries: draft.entries })))
    }
  })
}))
