/** The ComboPromotions port: writes the new order of a combo off the hot path, one write per combo at a time, and notes it in the audit log. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { AuditStore, ComboStore } from "#actors/ports/Stores.ts"
import type { Combo, Step } from "#schemas/records/Combo.ts"
import { ComboPromotions } from "#src/inference/ports/ComboMetrics.ts"
import { ownerOf } from "#src/management/ownership/ownership.ts"
import * as Promotion from "#src/routing/strategies/promotion.ts"

const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const store = yield* ComboStore
  const audits = yield* AuditStore
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  /** Combos whose order is being written: what is shown meanwhile is shown again. */
  const writing = new Set<string>()

  /** Judged by the record of that moment: another node or the operator may have ordered it since. */
  const write = (id: string, lesson: Promotion.Lesson, at: string) => configuration.commit(Effect.gen(function*() {
    const snapshot = configuration.current()
    const combo = snapshot.combos.find((one) => one.id === id)
    // The order of the configuration file stands until the file changes.
    if (combo === undefined || ownerOf(snapshot, "combo", id) === "file") return null
    const next = Promotion.promoted(combo, lesson)
    return next !== combo && (yield* store.replace({ ...next, updatedAt: at })) ? next : null
  }))

  const named = (step: Step | undefined) => step === undefined ? null : step.kind === "model" ? step.model : step.comboName

  const noted = ({ id, models, name }: Combo, { answered }: Promotion.Lesson, timestamp: string) => audits.append({
    id: Crypto.randomUUID(), timestamp, action: "combo.promoted", actor: "gateway", target: id,
    details: { name, model: named(models.find((step) => step.id === answered)), before: named(models[models.findIndex((step) => step.id === answered) + 1]) },
    ipAddress: null, resourceType: "combo", status: "success", requestId: null
  })

  const promote = Effect.fnUntraced(function*(combo: Combo, lesson: Promotion.Lesson) {
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    const next = yield* write(combo.id, lesson, at)
    if (next !== null) yield* noted(next, lesson, at)
  })

  return ComboPromotions.of({
    answered: (combo, order, attempts) => {
      if (!Promotion.isOn(configuration.current().settings) || writing.has(combo.id)) return
      const lesson = Promotion.lessonOf(combo, order, attempts)
      if (lesson === null) return
      writing.add(combo.id)
      fork(promote(combo, lesson).pipe(
        Effect.catch((error) => Effect.logWarning(`The order of combo '${combo.name}' was not stored: ${error.message}`)),
        Effect.ensuring(Effect.sync(() => writing.delete(combo.id)))
      ))
    }
  })
})

export const layer = Layer.effect(ComboPromotions, make)
