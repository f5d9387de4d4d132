/** The port PreviousResponses over what is kept. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Secrets } from "#actors/ports/Secrets.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import { PreviousResponses } from "#src/inference/ports/PreviousResponses.ts"
import * as Members from "#src/wire/json/members.ts"
import * as Items from "#src/wire/responses/itemTexts.ts"
import * as Compaction from "./compaction.ts"
import type { StoredResponse } from "./ResponseStore.ts"
import { StoredResponses } from "./StoredResponses.ts"

const name = "previous_response_id"
const mark = Buffer.from(`"${name}"`)
const background = Buffer.from("\"background\"")

const says = (members: Members.Members, member: string, value: string): boolean => members.get(member)?.toString("latin1") === value

/** A stream is served as one; what must not be stored cannot be asked for later. */
const isInBackground = (members: Members.Members): boolean => says(members, "background", "true") && !says(members, "stream", "true") && !says(members, "store", "false")

export const layer = Layer.effect(PreviousResponses, Effect.gen(function*() {
  const responses = yield* StoredResponses
  const secrets = yield* Secrets
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const expand: PreviousResponses["Service"]["expand"] = (body, key, done) => {
    whole(body, key, (made, inBackground) => done(made instanceof PublicError ? made : Compaction.opened(made, key, secrets), inBackground))
  }
  const whole: PreviousResponses["Service"]["expand"] = (body, key, done) => {
    const members = body.includes(mark) || body.includes(background) ? Members.of(body) : null
    if (members === null) return done(body, false)
    const inBackground = isInBackground(members)
    const own = says(members, "background", "true") ? Members.write([...members].filter(([member]) => member !== "background")) : body
    const id = Members.text(members.get(name))
    if (id === null || id === "") return done(own, inBackground)
    run(Effect.match(responses.find(id, key === null ? null : key.id), {
      onFailure: () => done(Errors.make("service_unavailable", "Stored responses cannot be read at the moment.", { retryAfterSeconds: 1 }), false),
      onSuccess: (found) => done(found === null ? own : continued(Members.of(own) ?? members, found), inBackground)
    }))
  }
  return { expand, compact: (body, key, done) => expand(body, key, (made) => done(made instanceof PublicError ? made : Compaction.asked(made), false)) }
}))

/** The request with all that went before. An input that is neither a text nor a list is left for its own refusal. */
const continued = (members: Members.Members, { input, response, status }: StoredResponse) => {
  if (status !== "completed" && status !== "incomplete") {
    return Errors.make("bad_request", `The response that ${name} names is ${status}: only a finished one can be continued.`, { extra: { param: name } })
  }
  const items = Items.ofInput(members.get("input"))
  if (items === null) return Members.write([...members].filter(([member]) => member !== name))
  const output = Members.of(Buffer.from(response))?.get("output") ?? Buffer.from("[]")
  const whole = Items.joined(Buffer.from(input).subarray(1, -1), Items.replayed(output), items)
  return Members.write([...[...members].filter(([member]) => member !== name && member !== "input"), ["input", Items.list(whole)]])
}
