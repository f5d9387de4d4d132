/**
 * Reads what users and tools say in each conversation before anything else sees it, and what models answer before anything keeps it: a
 * text is refused, changed, or only counted. While nothing is switched on, a request costs two comparisons.
 */
import * as Effect from "effect/Effect"
import { PublicError } from "#schemas/errors.ts"
import type { Large } from "#src/inference/lane/bodies/Prompt.ts"
import { Bodies } from "#src/inference/lane/services/Bodies.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import type { AdmittedCall, ConversationCall, Stage } from "#src/inference/lane/stages/Stages.ts"
import * as Stages from "#src/inference/lane/stages/Stages.ts"
import { GuardedClient } from "./answers/GuardedClient.ts"
import { Guardrails } from "./Guardrails.ts"
import * as Notes from "./Notes.ts"
import { refusing, type Report } from "./Reading.ts"
import * as Refusals from "./refusals.ts"
import { failed, scan } from "./requests/scan.ts"
import * as RewrittenBody from "./requests/rewrittenBody.ts"
import type { ScannedBody } from "./requests/scanJob.ts"
import { scanning } from "./requests/scanJobs.ts"
import * as Rules from "./rules.ts"

const isConversation = (call: AdmittedCall): call is ConversationCall => call.codec !== null

export const requests = Effect.gen(function*() {
  const { rules, rulesFor } = yield* Guardrails
  const bodies = yield* Bodies
  const { fork } = yield* Forks
  const note = yield* Notes.make(fork)

  const conclude = (call: AdmittedCall, reports: ReadonlyArray<Report>, changed: RewrittenBody.Changed | null, next: (call: AdmittedCall) => void): void => {
    note(reports, "request", call.tags.requestId)
    const refused = refusing(reports)
    if (refused !== null) call.passage.refuse(Refusals.of(refused, "request"))
    else next(changed === null ? call : { ...call, ...changed })
  }

  const readLarge = (call: ConversationCall, large: Large, of: Rules.Rules, next: (call: AdmittedCall) => void): void => {
    const id = bodies.nextId()
    const read = Effect.callback<ScannedBody | PublicError>((resume) => {
      bodies.ask(scanning, { id: large.id, bytes: call.body, format: call.codec.name, rules: of }, (said) => resume(Effect.succeed(said)))
    })
    Stages.wait(call, fork, read, "its texts were read by guardrails", (said) => {
      // What was lost with its thread is what could not be read for another reason, too.
      if (said instanceof PublicError) conclude(call, failed(of, said.message).reports, null, next)
      else conclude(call, said.reports, said.changed === null ? null : RewrittenBody.inPlaceOf(large, said.changed, id), next)
    })
  }

  return {
    name: "guardrails",
    applies: (call) => rules() !== Rules.none && isConversation(call),
    run: (call, next) => {
      if (!isConversation(call)) return next(call)
      const own = rulesFor(call)
      const guarded: ConversationCall = { ...call, guardrails: JSON.stringify(own) }
      if (!Rules.isOn(own.requests)) return next(guarded)
      if (call.large !== undefined) return readLarge(guarded, call.large, own, next)
      const { changed, reports } = scan(own, call.codec.name, call.body, call.parsed)
      conclude(guarded, reports, changed === null ? null : { body: changed.bytes, parsed: changed.body }, next)
    }
  } satisfies Stage
})

/** In front of the client, behind everything that keeps answers: what guardrails change or block, nothing keeps otherwise. */
export const answers = Effect.gen(function*() {
  const { rules, rulesFor } = yield* Guardrails
  const bodies = yield* Bodies
  const { fork } = yield* Forks
  const note = yield* Notes.make(fork)

  return {
    name: "guardrails of answers",
    applies: (call) => rules() !== Rules.none && isConversation(call) && Rules.isOn(rules().answers),
    run: (call, next) => {
      const { client, codec, tags: { requestId } } = call
      const { answers: modes } = rulesFor(call)
      if (codec === null || !Rules.isOn(modes)) next(call)
      else next({ ...call, client: new GuardedClient({ client, codec, modes, bodies, note, requestId }) })
    }
  } satisfies Stage
})
