/** The port PreviousResponses over what is kept. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import { type Asked, type Expanded, nothing, PreviousResponses } from "#src/inference/ports/PreviousResponses.ts"
import * as Members from "#src/wire/json/members.ts"
import * as ItemTexts from "#src/wire/responses/itemTexts.ts"
import * as Compaction from "./compaction.ts"
import type { StoredItem } from "./ConversationStore.ts"
import type { StoredResponse } from "./ResponseStore.ts"
import { full, isFull, StoredConversations, unknown as unknownConversation } from "./StoredConversations.ts"
import { StoredResponses, unknown as unknownResponse } from "./StoredResponses.ts"

const previous = "previous_response_id"
/** Bodies without any of these words are what they look like. */
const marks = [previous, "background", "conversation"].map((word) => Buffer.from(`"${word}"`))

const reasoning = Buffer.from("\"reasoning\"")

const says = (members: Members.Members, member: string, value: string): boolean => members.get(member)?.toString("latin1") === value

/** A stream is served as one. */
const isInBackground = (members: Members.Members): boolean => says(members, "background", "true") && !says(members, "stream", "true")

/** What is not stored cannot be asked for later. */
const notStored = Errors.make("unsupported_feature", "Field 'background': a response in the background is stored, and 'store' is false.", { extra: { param: "background" } })

/** `"conv_1"` or `{"id":"conv_1"}`. */
const conversationIn = (members: Members.Members): string | null => {
  const value = members.get("conversation")
  return Members.text(value) ?? (value === undefined ? null : Members.text(Members.of(value)?.get("id")))
}

/** The body with what was looked up, or why not; null where nothing is kept under that id. */
type Found = readonly [Buffer | PublicError, Asked] | null

export const layer = Layer.effect(PreviousResponses, Effect.gen(function*() {
  const responses = yield* StoredResponses
  const conversations = yield* StoredConversations
  const secrets = yield* Secrets
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const expand: PreviousResponses["Service"]["expand"] = (body, key, done) => {
    whole(body, key, (made, asked) => done(made instanceof PublicError ? made : Compaction.opened(made, key, secrets), asked))
  }
  const lookUp = (found: Effect.Effect<Found, StoreError>, own: Buffer, asked: Asked, done: Expanded): void => {
    run(Effect.match(found, {
      onFailure: () => done(Errors.make("service_unavailable", "Stored responses and conversations cannot be read at the moment.", { retryAfterSeconds: 1 }), nothing),
      onSuccess: (made) => made === null ? done(own, asked) : done(...made)
    }))
  }
  const whole: PreviousResponses["Service"]["expand"] = (body, key, done) => {
    const members = marks.some((mark) => body.includes(mark)) ? Members.of(body) : null
    if (members === null) return done(body, nothing)
    const asked: Asked = { ...nothing, inBackground: isInBackground(members) }
    if (asked.inBackground && says(members, "store", "false")) return done(notStored, nothing)
    const own = says(members, "background", "true") ? inForeground(members, key?.policy.noLog !== true) : body
    const keyId = key === null ? null : key.id
    const id = Members.text(members.get(previous))
    const conversation = conversationIn(members)
    if (id !== null && id !== "" && conversation !== null) {
      return done(Errors.make("bad_request", `A request names ${previous} or conversation, not both.`, { extra: { param: "conversation" } }), nothing)
    }
    if (conversation !== null) {
      if (key?.policy.noLog === true) return done(Errors.make("bad_request", "A conversation is stored, and nothing of this API key may be (noLog).", { extra: { param: "conversation" } }), nothing)
      const others = Effect.map(conversations.isAnothers(conversation, keyId), (is): Found => is ? [unknownConversation(conversation, "conversation"), nothing] : null)
      return lookUp(Effect.flatMap(conversations.find(conversation, keyId), (found) => found === null ? others : Effect.map(
        conversations.items(conversation), (items) => inConversation(Members.of(own) ?? members, found.id, items, asked)
      )), own, asked, done)
    }
    if (id === null || id === "") return done(own, asked)
    // The provider may know another caller's response by this id: all keys share its account.
    const others = Effect.map(responses.isAnothers(id, keyId), (is): Found => is ? [unknownResponse(id, previous), nothing] : null)
    lookUp(Effect.flatMap(responses.find(id, keyId), (found) =>
      found === null ? others : Effect.succeed<Found>([continued(Members.of(own) ?? members, found), { ...asked, previous: id }])), own, asked, done)
  }
  return { expand, compact: (body, key, done) => expand(body, key, (made) => done(made instanceof PublicError ? made : Compaction.asked(made), nothing)) }
}))

/** The request as one that is answered at once. A stream is kept all the same, where that may be and the request does not say otherwise. */
const inForeground = (members: Members.Members, mayKeep: boolean): Buffer => {
  const keeps = mayKeep && says(members, "stream", "true") && (!members.has("store") || says(members, "store", "null"))
  const others = [...members].filter(([member]) => member !== "background" && !(keeps && member === "store"))
  return Members.write(keeps ? [...others, ["store", "true"]] : others)
}

/** The request with all that went before. An input that is neither a text nor a list is left for its own refusal. */
const continued = (members: Members.Members, { input, response, status }: StoredResponse) => {
  if (status !== "completed" && status !== "incomplete") {
    return Errors.make("bad_request", `The response that ${previous} names is ${status}: only a finished one can be continued.`, { extra: { param: previous } })
  }
  const output = Members.of(Buffer.from(response))?.get("output") ?? Buffer.from("[]")
  return behind(members, previous, [Buffer.from(input).subarray(1, -1), ItemTexts.replayed(output)])
}

/** The same of a conversation, whose items are outputs, too. Only items that may be reasoning are parsed: a conversation may be long. */
const inConversation = (members: Members.Members, id: string, items: ReadonlyArray<StoredItem>, said: Asked): readonly [Buffer | PublicError, Asked] => {
  const asked = { ...said, conversation: { id, known: 0 } }
  if (isFull(items)) return [full, asked]
  const before = items.map(({ item }) => Buffer.from(item)).map((item) => item.includes(reasoning) ? ItemTexts.replayed(ItemTexts.list(item)) : item).filter((item) => item.length > 0)
  return [behind(members, "conversation", before), { ...asked, conversation: { id, known: before.length } }]
}

const behind = (members: Members.Members, name: string, before: ReadonlyArray<Buffer>): Buffer => {
  const items = ItemTexts.ofInput(members.get("input"))
  if (items === null) return Members.write([...members].filter(([member]) => member !== name))
  return Members.write([...[...members].filter(([member]) => member !== name && member !== "input"), ["input", ItemTexts.list(ItemTexts.joined(...before, items))]])
}
