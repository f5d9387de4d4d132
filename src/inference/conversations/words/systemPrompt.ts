/**
 * The gateway's own words around the instructions of every conversation: `before` stands before all others, a combo's system_message
 * included, `after` behind the instructions that the conversation begins with. Once over the neutral conversation, once over a body in
 * the client's own format, of which only the member with the instructions changes. Pure.
 */
import { systemPromptOf } from "#schemas/words/SystemPrompt.ts"
import type { Conversation, FormatName, TextPart, Turn } from "#schemas/wire/conversation.ts"
import * as SystemMessage from "#src/routing/combos/systemMessage.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Lists from "#src/wire/json/lists.ts"
import type * as Splice from "#src/wire/json/splice.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

/** What is said; an empty text says nothing. */
export interface SystemPrompt {
  readonly before: string
  readonly after: string
}

/** Between texts that must be one. */
const gap = "\n\n"

/** The texts that are not empty, as one. */
export const joined = (...texts: ReadonlyArray<unknown>): string => texts.filter((text) => typeof text === "string" && text !== "").join(gap)

/** What the settings say of every conversation, each text once; null = nothing. */
export const of = (settings: ReadonlyMap<string, unknown>): SystemPrompt | null => {
  const { enabled, prefixPrompt, prompt, suffixPrompt } = systemPromptOf(settings)
  const custom = settings.get("customSystemPrompt")
  const texts = new Set<string>()
  const first = (text: string): string => {
    // Vendors refuse a block of blanks.
    if (text.trim() === "" || texts.has(text)) return ""
    texts.add(text)
    return text
  }
  const before = enabled ? first(prefixPrompt) : ""
  const after = joined(
    ...enabled ? [first(prompt), first(suffixPrompt)] : [],
    settings.get("customSystemPromptEnabled") === true && typeof custom === "string" ? first(custom) : ""
  )
  return texts.size === 0 ? null : { before, after }
}

/** With what is remembered for the key of a request, behind the operator's first words and before all others. */
export const withMemory = (prompt: SystemPrompt | null, memory: string | undefined): SystemPrompt | null =>
  memory === undefined ? prompt : { before: joined(prompt?.before, memory), after: prompt?.after ?? "" }

/** With what asks for a short answer behind them; null = nothing asks. */
export const withTerse = (prompt: SystemPrompt | null, terse: string | null): SystemPrompt | null =>
  terse === null ? prompt : prompt === null ? { before: "", after: terse } : { before: prompt.before, after: joined(prompt.after, terse) }

const isInstruction = (role: unknown): boolean => role === "system" || role === "developer"

/** How many items a list of messages begins with that are instructions. */
const leading = (messages: ReadonlyArray<{ readonly role?: unknown }>): number => {
  const end = messages.findIndex((message) => !Json.isRecord(message) || !isInstruction(message["role"]))
  return end === -1 ? messages.length : end
}

const textPart = (text: string): TextPart => ({ kind: "text", text, cache: null, annotations: [], signature: null })

/** As a client's own system prompt, so that no family takes it for a message between messages. */
const turnOf = (text: string): Turn => ({ role: "system", parts: [textPart(text)], name: null, path: "system" })

/** The conversation with the prompt around the client's own system turns. */
export const ofConversation = (prompt: SystemPrompt | null, conversation: Conversation): Conversation => {
  if (prompt === null) return conversation
  const { turns } = conversation
  const end = leading(turns)
  const said = (text: string): ReadonlyArray<Turn> => text === "" ? [] : [turnOf(text)]
  return {
    ...conversation,
    turns: end === 0 ? [...said(joined(prompt.before, prompt.after)), ...turns] : [...said(prompt.before), ...turns.slice(0, end), ...said(prompt.after), ...turns.slice(end)]
  }
}

/** What changes in a body: members that are said anew, and items that are put into a list. */
interface Changes {
  readonly members: Readonly<Record<string, unknown>>
  readonly list?: { readonly name: string; readonly insertions: ReadonlyArray<Lists.Insertion> }
}

const changed = (before: Body, after: Body, ...names: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(names.filter((name) => after[name] !== before[name]).map((name) => [name, after[name]]))

/** Messages of a chat: where they begin with instructions, with a message of the same role before and behind them; else with one. */
const inMessages = (name: string, messages: ReadonlyArray<unknown>, { after, before }: SystemPrompt): Changes => {
  const end = leading(messages as ReadonlyArray<{ readonly role?: unknown }>)
  const said = (at: number, like: number, text: string): ReadonlyArray<Lists.Insertion> => {
    const role = Json.isRecord(messages[like]) && messages[like]["role"] === "developer" ? "developer" : "system"
    return text === "" ? [] : [{ at, item: { role, content: text } }]
  }
  return {
    members: {},
    list: { name, insertions: end === 0 ? said(0, 0, joined(before, after)) : [...said(0, 0, before), ...said(end, end - 1, after)] }
  }
}

const inBlocks = (own: ReadonlyArray<unknown>, { after, before }: SystemPrompt): ReadonlyArray<unknown> => {
  const block = (text: string) => text === "" ? [] : [{ type: "text", text }]
  return [...block(before), ...own, ...block(after)]
}

const inInstruction = (body: Body, { after, before }: SystemPrompt): Changes => {
  const fronted = before === "" ? body : SystemMessage.ofBody("generateContent", body, before)
  const name = Object.hasOwn(fronted, "system_instruction") ? "system_instruction" : "systemInstruction"
  const own = fronted[name]
  if (after === "") return { members: changed(body, fronted, name) }
  if (!Json.isRecord(own)) return { members: { [name]: { parts: [{ text: joined(own, after) }] } } }
  const parts = Array.isArray(own["parts"]) ? own["parts"] : own["parts"] === undefined ? [] : [own["parts"]]
  return { members: { [name]: { ...own, parts: [...parts, { text: after }] } } }
}

/** Instructions have a member of their own, or begin the input; what is to be said behind them stands behind both. */
const inResponses = (body: Body, { after, before }: SystemPrompt): Changes => {
  const { input, instructions } = body
  const end = Array.isArray(input) ? leading(input) : 0
  if (!Array.isArray(input) || end === 0 || after === "") return { members: { instructions: joined(before, instructions, after) } }
  const inside = inMessages("input", input, { before: "", after })
  return before === "" ? inside : { ...inside, members: { instructions: joined(before, instructions) } }
}

const changesOf = (format: FormatName, body: Body, prompt: SystemPrompt): Changes => {
  const { after, before } = prompt
  switch (format) {
    case "chat-completions":
      return inMessages("messages", Array.isArray(body["messages"]) ? body["messages"] : [], prompt)
    case "local-model-server":
      return Array.isArray(body["messages"]) ? inMessages("messages", body["messages"], prompt) : { members: { system: joined(before, body["system"], after) } }
    case "messages":
      return { members: { system: Array.isArray(body["system"]) ? inBlocks(body["system"], prompt) : joined(before, body["system"], after) } }
    case "responses":
      return inResponses(body, prompt)
    case "generateContent":
      return inInstruction(body, prompt)
    case "completions":
      // A bare prompt has no place for instructions: what stands in front of it is read first, and the model continues its end.
      return { members: changed(body, SystemMessage.ofBody("completions", body, joined(before, after)), "prompt") }
  }
}

/** The body with the words; the given body is not changed. */
export const ofBody = (prompt: SystemPrompt | null, format: FormatName, body: Body): Body => {
  if (prompt === null) return body
  const { list, members } = changesOf(format, body, prompt)
  return list === undefined ? { ...body, ...members } : { ...body, ...members, [list.name]: Lists.inserted(body[list.name], list.insertions) }
}

/** The same as changes of the body's bytes, in which every other byte stays: the messages around those that are put in, too. */
export const editsOf = (prompt: SystemPrompt | null, format: FormatName, bytes: Buffer, body: Body): ReadonlyArray<Splice.Edit> => {
  if (prompt === null) return none
  const { list, members } = changesOf(format, body, prompt)
  const edits = Object.entries(members).map(([key, value]) => ({ key, value: JSON.stringify(value) }))
  return list === undefined ? edits : [...edits, { key: list.name, value: Lists.insertedInto(bytes, body, list.name, list.insertions) }]
}

const none: ReadonlyArray<Splice.Edit> = []
