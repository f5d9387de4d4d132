/** The playground: what format a body has, what another format says of it, what its model answers, and what operators keep of that. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import { RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Call from "./call.ts"
import * as Detection from "./detection.ts"
import * as Saves from "./saves.ts"
import * as Translation from "./translation.ts"

type Body = Readonly<Record<string, Schema.Json>>

interface Asked {
  readonly body: Body
  readonly provider?: string
  readonly model?: string
  readonly sourceFormat?: FormatName
}

type Step = 1 | 2 | 3 | 4 | "direct"

/** Characters of an answer that are shown. */
const SHOWN_MAX = 1_000_000
/** Longest wait for the answer to a request that is sent. */
const SEND_FOR = "5 minutes"

/** A refusal of a codec or a plan, with the field that it names inside the body. */
const refusalOf = ({ code, extra, message }: PublicError): Refusal.Refusal => {
  const param = extra?.["param"]
  return Refusal.badRequest(message, { code, ...(typeof param === "string" ? { details: [{ field: `body.${param}`, message }] } : {}) })
}

/** The model that is asked for; empty when nothing names one. */
const modelOf = ({ body, model, provider }: Asked): string => {
  const own = model ?? (typeof body["model"] === "string" ? body["model"] : "")
  return provider === undefined || own.startsWith(`${provider}/`) ? own : `${provider}/${own}`
}

/** The body as its codec reads it: the model where the format's paths name it, too. */
const withModel = (body: Body, model: string): Body => model === "" ? body : { ...body, model }

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const own = yield* OwnCalls
  const views = yield* RoutingViews
  const saves = Saves.make(yield* DocumentStore, yield* Configuration)

  /** The first target of the model; why there is none; null where no model is named. */
  const targetOf = (model: string, format: FormatName): Target | PublicError | null => {
    if (model === "" || model.endsWith("/")) return null
    const planned = views.planned(model, format)
    return planned instanceof PublicError ? planned : planned[0] ?? null
  }

  const sourceOf = (asked: Asked): { readonly format: FormatName; readonly detected: Detection.Detected } | Refusal.Refusal => {
    const detected = Detection.ofRequest(asked.body)
    const format = asked.sourceFormat ?? detected.format
    if (format !== null) return { format, detected }
    const [likely] = detected.readings
    return Refusal.invalidField("body", likely === undefined
      ? "No format has a request like this: name one as sourceFormat"
      : `No format can read it. As ${likely.format}: ${likely.problem?.message ?? ""}`)
  }

  const detect = (asked: Asked) => {
    const { format, readings, sure } = Detection.ofRequest(asked.body)
    const model = modelOf(asked)
    const target = format === null ? null : targetOf(model, format)
    return {
      format, sure, readings, model: model === "" ? null : model,
      targetFormat: target === null || target instanceof PublicError ? null : target.wireFormat as FamilyName
    }
  }

  const translate = Effect.fn("Translator.translate")(function*(asked: Asked & { readonly targetFormat?: FamilyName; readonly step?: Step }) {
    const { step = "direct" } = asked
    const last = step === "direct" ? 3 : step
    const source = sourceOf(asked)
    if (source instanceof Refusal.Refusal) return yield* Effect.fail(source)
    const { detected, format } = source
    const model = modelOf(asked)
    const body = withModel(asked.body, model)
    const steps: Array<{ readonly step: number; readonly name: string; readonly result: Schema.Json }> = []
    const done = (targetFormat: FamilyName | null, omitted: ReadonlyArray<string>) => ({
      success: true as const, sourceFormat: format, targetFormat, step, omitted, steps: step === "direct" ? [] : steps, result: steps.at(-1)?.result ?? null
    })
    const note = (number: number, name: string, result: unknown): void => {
      steps.push({ step: number, name, result: result as Schema.Json })
    }

    note(1, "detect", { format: detected.format, sure: detected.sure, readings: detected.readings, used: format })
    if (last === 1) return done(null, [])
    if (step !== "direct") {
      const conversation = Translation.neutral(format, { model: "model", ...body })
      if (conversation instanceof PublicError) return yield* Effect.fail(refusalOf(conversation))
      note(2, "neutral", Call.shownConversation(conversation))
    }
    if (last === 2) return done(null, [])

    const planned = targetOf(model, format)
    const target = planned instanceof PublicError ? null : planned
    const to = asked.targetFormat ?? (target === null ? null : target.wireFormat as FamilyName)
    if (to === null) {
      return yield* Effect.fail(planned instanceof PublicError ? refusalOf(planned) : Refusal.invalidField("targetFormat", "Required while no model says which upstream is asked"))
    }
    const head = Formats.client(format).head({ model: "model", ...body })
    if (head instanceof PublicError) return yield* Effect.fail(refusalOf(head))
    const written = Translation.request(format, to, { model: "model", ...body }, target, Translation.traitsOf(target, model === "" ? "model" : model, head.stream))
    if (written instanceof PublicError) return yield* Effect.fail(refusalOf(written))
    note(3, "encode", Json.parseRecord(written.body.toString("utf8")))
    if (last === 3) return done(to, written.omitted)

    if (target === null || target.wireFormat !== to) {
      return yield* Effect.fail(planned instanceof PublicError
        ? refusalOf(planned)
        : Refusal.invalidField("step", "Step 4 shows a call to the model's own upstream: name a model of a connected provider, and leave targetFormat out"))
    }
    note(4, "call", Call.shownCall(target, head.stream))
    return done(to, written.omitted)
  })

  const send = Effect.fn("Translator.send")(function*(asked: Asked) {
    const source = sourceOf(asked)
    if (source instanceof Refusal.Refusal) return yield* Effect.fail(source)
    const { format } = source
    const model = modelOf(asked)
    if (model === "" || model.endsWith("/")) return yield* Effect.fail(Refusal.invalidField("model", "Required: the body names no model"))
    const { model: _, stream, ...rest } = asked.body
    const streams = stream === true
    const path = Call.pathOf(format, model, streams)
    // Google's requests say model and kind in the path alone.
    const body = format === "generateContent" ? rest : withModel(asked.body, model)
    const startedAt = yield* Clock.currentTimeMillis
    yield* audit.note({ action: "translator.sent", target: model, resourceType: "translator", details: { format } })
    const reply = yield* Effect.timeoutOption(own.ask({ path, body: JSON.stringify(body), keyHash: null, address: "" }), SEND_FOR)
    if (Option.isNone(reply)) return yield* Effect.fail(Refusal.unavailable(`Model '${model.slice(0, 120)}' did not answer within ${SEND_FOR}`))
    const { body: said, status } = reply.value
    const parsed = Json.parseRecord(said)
    return {
      status, sourceFormat: format, path, latencyMs: (yield* Clock.currentTimeMillis) - startedAt,
      body: said.length > SHOWN_MAX ? said.slice(0, SHOWN_MAX) : parsed === null ? said : parsed as Schema.Json,
      truncated: said.length > SHOWN_MAX
    }
  })

  const play = Effect.fn("Translator.stream")(function*({ model = "model", sourceFormat, stream, targetFormat }: {
    readonly stream: string
    readonly sourceFormat?: FamilyName
    readonly targetFormat: FormatName
    readonly model?: string
  }) {
    const from = sourceFormat ?? Detection.ofStream(stream)
    if (from === null) return yield* Effect.fail(Refusal.invalidField("sourceFormat", "Required: no frame of the stream says its format"))
    const now = yield* Clock.currentTimeMillis
    let ids = 0
    const { error, usage, ...played } = Translation.stream(from, targetFormat, stream, {
      model, request: {}, now: () => Math.floor(now / 1_000), makeId: () => `translated${String(++ids).padStart(14, "0")}`
    })
    return {
      sourceFormat: from, targetFormat, ...played, error: error === null ? null : error.message,
      usage: usage === null ? null : { input: usage.input, output: usage.output }
    }
  })

  const save = (name: string, content: Saves.Content) =>
    Effect.tap(saves.save(name, content), () => audit.note({ action: "translator.saved", target: name, resourceType: "translator" }))

  const remove = (name: string) => Effect.andThen(saves.remove(name), audit.note({ action: "translator.removed", target: name, resourceType: "translator" }))

  return { detect, translate, send, play, history: saves.list, load: saves.load, save, remove }
})
