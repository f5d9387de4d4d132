/** The operations of stored responses and conversations. */
import type { JsonObject } from "./json.ts"
import { errors, type Failure, inPath, type Operation, ref, requestIdHeader } from "./operation.ts"

const id = inPath("id", "Id of a response whose request asked for it to be stored.", "resp_9")
const model = "openai/gpt-4o-mini"
const response: JsonObject = { id: "resp_9", object: "response", created_at: 1795219200, status: "completed", model, output: [] }

const of = (name: string, summary: string, description: string, example: JsonObject, parameters: ReadonlyArray<JsonObject> = []): Operation => ({
  id: `responses.${name}`,
  summary,
  description,
  parameters: [id, ...parameters],
  responses: {
    200: { description: "The response, or what became of it.", headers: { "X-Gateway-Request-Id": requestIdHeader }, content: { "application/json": { schema: { type: "object" }, example } } },
    ...errors([401, 403, 404, 503], "ChatError")
  }
})

const query = (name: string, description: string, schema: JsonObject): JsonObject => ({ name, in: "query", required: false, description, schema })

const read = of("read", "A stored response", "A response that was asked for with `store: true` or `background: true`, by the key that asked.", response)
const input = of("inputItems", "Input items of a stored response", "All items that the response answers, those of earlier responses included.", { object: "list", data: [], first_id: null, last_id: null, has_more: false }, [
  query("limit", "Items of a page.", { type: "integer", minimum: 1, maximum: 100, default: 20 }),
  query("order", "Newest first unless `asc`.", { type: "string", enum: ["asc", "desc"], default: "desc" }),
  query("after", "Id of the last item of the page before.", { type: "string" })
])
const cancel = of("cancel", "Cancel a response that is made in the background", "Ends its upstream call; a finished response stays as it is.", { ...response, status: "cancelled" })

const conversationId = inPath("id", "Id of a conversation that this key made.", "conv_9")
const itemId = inPath("item", "Id of an item of the conversation.", "msg_9")
const conversation: JsonObject = { id: "conv_9", object: "conversation", created_at: 1795219200, metadata: { topic: "greetings" } }
const message: JsonObject = { id: "msg_9", type: "message", role: "user", status: "completed", content: [{ type: "input_text", text: "Say hello." }] }
const page: JsonObject = { object: "list", data: [message], first_id: "msg_9", last_id: "msg_9", has_more: false }

const metadataSchema: JsonObject = { type: "object", additionalProperties: { type: "string", maxLength: 512 }, maxProperties: 16 }
const itemsSchema: JsonObject = { type: "array", maxItems: 20, items: { type: "object" } }

const conversing = (
  name: string, summary: string, description: string, example: JsonObject, parameters: ReadonlyArray<JsonObject>, body: JsonObject | null, statuses: ReadonlyArray<Failure>
): Operation => ({
  id: `conversations.${name}`,
  summary,
  description,
  parameters,
  ...(body === null ? {} : { body: { required: true, content: { "application/json": body } } }),
  responses: {
    200: { description: "The conversation, or what became of it.", headers: { "X-Gateway-Request-Id": requestIdHeader }, content: { "application/json": { schema: { type: "object" }, example } } },
    ...errors([...statuses, 401, 403, 503], "ChatError")
  }
})

const bodyOf = (properties: JsonObject, example: JsonObject): JsonObject => ({ schema: { type: "object", properties }, example })
const paging = (): ReadonlyArray<JsonObject> => (input.parameters ?? []).slice(1)

const conversations: Readonly<Record<string, Operation>> = {
  "POST /v1/conversations": conversing("create", "Make a conversation", "Requests of `POST /v1/responses` go on with it by `conversation`; what is said is appended.", conversation, [],
    bodyOf({ metadata: metadataSchema, items: itemsSchema }, { metadata: { topic: "greetings" }, items: [{ role: "user", content: "Say hello." }] }), [400, 413]),
  "GET /v1/conversations/:id": conversing("read", "A conversation", "Its metadata; items are listed apart.", conversation, [conversationId], null, [404]),
  "POST /v1/conversations/:id": conversing("update", "Change a conversation's metadata", "Replaces it.", conversation, [conversationId], bodyOf({ metadata: metadataSchema }, { metadata: { topic: "greetings" } }), [400, 404, 413]),
  "DELETE /v1/conversations/:id": conversing("remove", "Delete a conversation", "Its items go, too.", { id: "conv_9", object: "conversation.deleted", deleted: true }, [conversationId], null, [404]),
  "GET /v1/conversations/:id/items": conversing("listItems", "Items of a conversation", "What was said, in pages.", page, [conversationId, ...paging()], null, [400, 404]),
  "POST /v1/conversations/:id/items": conversing("addItems", "Add items to a conversation", "They stand behind those that are there.", page, [conversationId],
    bodyOf({ items: itemsSchema }, { items: [{ role: "user", content: "Say hello." }] }), [400, 404, 413]),
  "GET /v1/conversations/:id/items/:item": conversing("readItem", "One item of a conversation", "A message, a call or what else a response holds.", message, [conversationId, itemId], null, [404]),
  "DELETE /v1/conversations/:id/items/:item": conversing("removeItem", "Delete an item of a conversation", "Later requests do not see it.", conversation, [conversationId, itemId], null, [404])
}

export const storedResponses: Readonly<Record<string, Operation>> = {
  ...conversations,
  "GET /v1/responses/:id": read,
  "DELETE /v1/responses/:id": of("remove", "Delete a stored response", "It cannot be read or continued afterwards.", { id: "resp_9", object: "response", deleted: true }),
  "GET /v1/responses/:id/input_items": { ...input, responses: { ...input.responses, ...errors([400], "ChatError") } },
  "POST /v1/responses/:id/cancel": { ...cancel, responses: { ...cancel.responses, ...errors([400], "ChatError") } },
  "POST /v1/responses/compact": {
    id: "responses.compact",
    summary: "Make a conversation short",
    description: "The named model writes a summary. The answer holds the user's messages and one item with the sealed summary: send them as the input of later requests.",
    body: { required: true, content: { "application/json": { schema: ref("ResponsesRequest"), example: { model, input: [{ role: "user", content: "Say hello." }] } } } },
    responses: {
      200: {
        description: "The shorter conversation.",
        content: { "application/json": { schema: { type: "object" }, example: { id: "resp_9", object: "response.compaction", created_at: 1795219200, output: [{ id: "cmp_9", type: "compaction", encrypted_content: "gwc1...." }] } } }
      },
      ...errors([400, 401, 403, 404, 413, 429, 502, 503, 504], "ChatError")
    }
  },
  "POST /v1/responses/input_tokens": {
    id: "responses.inputTokens",
    summary: "Count the tokens of a response's input",
    description: "Asks the provider when it counts itself, else a tokenizer; a combo counts for the target that it would ask first.",
    body: { required: true, content: { "application/json": { schema: ref("ResponsesRequest"), example: { model, input: "Say hello." } } } },
    responses: {
      200: { description: "The count.", content: { "application/json": { schema: { type: "object" }, example: { object: "response.input_tokens", input_tokens: 10 } } } },
      ...errors([400, 401, 403, 404, 413, 429], "ChatError")
    }
  }
}
