/**
 * POST /v1/responses/compact: a conversation made short, for every provider. A model of the client's choice writes a summary; the client
 * gets its own messages and one item that holds the summary, sealed for its key. Later requests that hold the item are given the summary.
 */
import * as Redacted from "effect/Redacted"
import { SealBroken, type Secrets } from "#actors/ports/Secrets.ts"
import type { Client } from "#actors/request/Inbound.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Stage } from "#src/inference/lane/stages/Stages.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import * as ItemTexts from "#src/wire/responses/itemTexts.ts"

export const endpoint = "/v1/responses/compact"

/** What the sealed text of an item begins with. */
const form = "gwc1."
const mark = Buffer.from(form)

const instructions = "You write summaries by which another assistant goes on with a conversation. Be complete and exact; answer with the summary alone."
const question = "Summarize the conversation so far for an assistant that will go on with it and sees nothing else of it: the goals, what was decided and done, names and values that are needed again, results of tools that matter, and what is open."
const introduction = "Summary of the conversation before this point:\n\n"

/** Members that go along; everything else is about the answer that is not asked for. */
const kept: ReadonlySet<string> = new Set(["model", "input", "tools", "service_tier", "prompt_cache_key", "safety_identifier", "user"])

const message = (text: string): Buffer => Buffer.from(JSON.stringify({ type: "message", role: "user", content: text }))

const contextOf = (key: ApiKey | null): string => `compaction:${key === null ? "anonymous" : key.id}`

/** The request for a summary. An input that is neither a text nor a list is left for its own refusal. */
export const asked = (body: Buffer): Buffer => {
  const members = Members.of(body)
  const items = members === null ? null : ItemTexts.ofInput(members.get("input"))
  if (members === null || items === null) return body
  return Members.write([
    ...[...members].filter(([name]) => kept.has(name) && name !== "input"),
    ["instructions", JSON.stringify(instructions)], ...(members.has("tools") ? [["tool_choice", "\"none\""]] as const : []),
    ["input", ItemTexts.list(ItemTexts.joined(items, message(question)))]
  ])
}

/** The body with summaries in the place of sealed items; refused when one was not sealed for this key. */
export const opened = (body: Buffer, key: ApiKey | null, secrets: Pick<Secrets["Service"], "openUnsafe">): Buffer | PublicError => {
  const members = body.includes(mark) ? Members.of(body) : null
  const items = Members.itemsOf(members?.get("input"))
  if (members === null || items === null) return body
  try {
    const open = ItemTexts.each(items).map((item) => {
      const sealed = item.includes(mark) ? Members.of(item) : null
      const content = Members.text(sealed?.get("encrypted_content"))
      if (sealed === null || content === null || !content.startsWith(form) || Members.text(sealed.get("type")) !== "compaction") return item
      return message(introduction + Redacted.value(secrets.openUnsafe(content.slice(form.length), contextOf(key))))
    })
    return Members.write([...members].map(([name, value]) => [name, name === "input" ? ItemTexts.list(ItemTexts.joined(...open)) : value]))
  } catch (error) {
    if (error instanceof SealBroken) return Errors.make("bad_request", "An item of type compaction was not made by this gateway for this key.", { extra: { param: "input" } })
    throw error
  }
}

interface Options {
  readonly secrets: Secrets["Service"]
  /** ms since the epoch. */
  readonly now: () => number
  readonly makeId: () => string
}

/** Turns the answer of the model into the compacted conversation. */
export const stage = ({ makeId, now, secrets }: Options): Stage => ({
  name: "compaction",
  applies: (call) => call.endpoint === endpoint,
  run: (call, next) => {
    const items = ItemTexts.each(Members.itemsOf(Members.of(call.body)?.get("input")) ?? Buffer.alloc(0)).slice(0, -1)
    const { client } = call
    const respond: Client["respond"] = (status, headers, body) => {
      const answer = StatusReason.isOk(status) ? Json.parseRecord(Buffer.from(body).toString("utf8")) : null
      if (answer === null) return client.respond(status, headers, body)
      const summary = textOf(answer)
      if (summary === "") return call.passage.refuse(Errors.make("upstream_invalid_response", "The model wrote no summary of the conversation."))
      const sealed = form + secrets.seal(Redacted.make(summary), contextOf(call.key))
      client.respond(status, headers, JSON.stringify({
        id: `resp_${makeId()}`, object: "response.compaction", created_at: Math.floor(now() / 1000),
        output: [...items.flatMap((item) => ownMessage(item, makeId)), { id: `cmp_${makeId()}`, type: "compaction", encrypted_content: sealed }], usage: answer["usage"] ?? null
      }))
    }
    next({ ...call, client: {
      start: (status, headers) => client.start(status, headers), relay: (chunk) => client.relay(chunk), onDrain: (listener) => client.onDrain(listener),
      end: (chunk) => client.end(chunk), respond, close: () => client.close()
    } })
  }
})

/** A message of the user as an output item; nothing for other items. */
const ownMessage = (item: Buffer, makeId: () => string): ReadonlyArray<unknown> => {
  const members = Members.of(item)
  if (members === null || Members.text(members.get("role")) !== "user") return []
  const said = Json.parseRecord(item.toString("utf8")) ?? {}
  const { content, id } = said
  return [{ id: typeof id === "string" && id !== "" ? id : `msg_${makeId()}`, type: "message", status: "completed", role: "user", content: typeof content === "string" ? [{ type: "input_text", text: content }] : content }]
}

const textOf = (answer: Readonly<Record<string, unknown>>): string =>
  (Array.isArray(answer["output"]) ? answer["output"] : []).flatMap((item: unknown) => Json.isRecord(item) && item["type"] === "message" && Array.isArray(item["content"]) ? item["content"] : [])
    .map((part: unknown) => Json.isRecord(part) && typeof part["text"] === "string" ? part["text"] : "").join("")
