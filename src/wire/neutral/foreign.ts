/**
 * A conversation as a family other than the client's own can take it: tools that only the client's vendor runs are left out and listed,
 * what they left behind in the history is text, tools of free text are functions where the target has no such tools, and every name is
 * one that all families take.
 */
import type { Conversation, FamilyName, ContentPart, Signature, TextPart, Tool, ToolChoice, Turn } from "#schemas/wire/conversation.ts"
import * as Carriers from "#src/wire/messages/carriers.ts"
import * as Freeform from "#src/wire/neutral/freeform.ts"
import { type Omitted, unsayable } from "#src/wire/neutral/settings.ts"
import { ToolNames } from "#src/wire/neutral/ToolNames.ts"

export interface Hearing {
  readonly family: FamilyName
  /** The target has tools that take free text. */
  readonly freeform: boolean
}

/** Throws (inside `reading`) where the client forces what is left out. */
export const foreign = (conversation: Conversation, { family, freeform }: Hearing, omitted: Omitted): Conversation => {
  if (conversation.format === family) return conversation
  const names = new ToolNames(conversation)
  const kept = conversation.tools.filter((tool) => tool.kind !== "hosted")
  const toolChoice = choiceOf(conversation, kept, names)
  for (const tool of conversation.tools) if (tool.kind === "hosted") omitted.add(`tools.${tool.type.slice(0, 64)}`)
  const turns: Array<Turn> = []
  for (const given of conversation.turns) {
    const turn = given.role === "assistant" ? withThoughts(given) : given
    const said = turnOf(turn, names, freeform, omitted)
    if (said.parts.length > 0 || turn.parts.length === 0) turns.push(said)
  }
  return { ...conversation, tools: kept.map((tool) => toolOf(tool, names, freeform)), toolChoice, turns }
}

/** The text of a turn that is one text of which nothing is said, as nearly all of a long conversation are; null for any other. */
export const soleText = (parts: ReadonlyArray<ContentPart>): string | null => {
  const [only] = parts
  return parts.length === 1 && only?.kind === "text" && only.text !== "" && only.cache === null && only.annotations.length === 0 && only.signature === null ? only.text : null
}

/** Nothing in it that could be seen. */
export const isBlank = (text: string): boolean => !visible.test(text)
const visible = /\S/

const toolOf = (tool: Exclude<Tool, { readonly kind: "hosted" }>, names: ToolNames, freeform: boolean): Tool => {
  const name = names.of(tool.name)
  const said = tool.kind === "custom" && !freeform ? Freeform.wrappedTool(tool) : tool
  return name === said.name ? said : { ...said, name }
}

/** What is left of the choice when the vendor's own tools are gone. */
const choiceOf = ({ format, toolChoice: choice, tools }: Conversation, kept: ReadonlyArray<Tool>, names: ToolNames): ToolChoice | null => {
  if (choice === null) return null
  const at = format === "generateContent" ? "toolConfig.functionCallingConfig" : "tool_choice"
  const refuse = (what: string): never => {
    throw unsayable(at, `it forces ${what}, which only its own vendor runs.`)
  }
  const keptNames = new Set(kept.map((tool) => tool.kind === "hosted" ? null : tool.name))
  const hosted = new Set(tools.flatMap((tool) => tool.kind === "hosted" ? [tool.type, namedBy(tool.value)] : []))
  const isHosted = (name: string): boolean => !keptNames.has(name) && hosted.has(name)
  switch (choice.kind) {
    case "hosted": return refuse(`the tool '${choice.type.slice(0, 64)}'`)
    case "tool": return isHosted(choice.name) ? refuse(`the tool '${choice.name.slice(0, 64)}'`) : { kind: "tool", name: names.of(choice.name) }
    case "allowed": {
      const left = choice.names.filter((name) => !isHosted(name))
      if (left.length > 0) return { ...choice, names: left.map((name) => names.of(name)) }
      return choice.required ? refuse("a tool of the vendor's") : { kind: "none" }
    }
    case "required":
      if (kept.length === 0 && tools.length > 0) refuse("a call, and all its tools are of a kind")
      return choice
    default: return kept.length === 0 && tools.length > 0 ? null : choice
  }
}

const namedBy = (value: unknown): unknown => typeof value === "object" && value !== null && "name" in value ? value.name : undefined

const turnOf = (turn: Turn, names: ToolNames, freeform: boolean, omitted: Omitted): Turn => {
  let parts: Array<ContentPart> | null = null
  turn.parts.forEach((part, i) => {
    const said = partOf(part, names, freeform, omitted)
    if (said === part && parts === null) return
    parts ??= turn.parts.slice(0, i)
    if (said !== null) parts.push(said)
  })
  return parts === null ? turn : { ...turn, parts }
}

/** Null for what is left out. */
const partOf = (part: ContentPart, names: ToolNames, freeform: boolean, omitted: Omitted): ContentPart | null => {
  switch (part.kind) {
    case "toolCall": {
      const name = names.of(part.name)
      if (name === part.name && (!part.custom || freeform)) return part
      return part.custom && !freeform ? { ...part, name, custom: false, arguments: Freeform.wrapped(part.arguments) } : { ...part, name }
    }
    case "toolResult": {
      const name = part.name === null ? null : names.of(part.name)
      return name === part.name ? part : { ...part, name }
    }
    case "opaque":
      if (part.fallback === null) throw unsayable(part.field, "only its own vendor can read this part of the conversation.")
      omitted.add(part.fallback === "" ? part.listed : `${part.listed} (as text)`)
      return part.fallback === "" ? null : textPart(part.fallback)
    default: return part
  }
}

/** Families that sign thoughts, and nothing else. */
const signsThoughts: ReadonlySet<FamilyName> = new Set(["messages", "responses"])

/** A client that drops thoughts may keep their signature on the call or the text behind them: it is a thought of its own again. */
const withThoughts = (turn: Turn): Turn => {
  const isMoved = (part: ContentPart): part is Extract<ContentPart, { readonly kind: "text" | "toolCall" }> =>
    (part.kind === "text" || part.kind === "toolCall") && part.signature !== null && signsThoughts.has(part.signature.family)
  if (!turn.parts.some(isMoved)) return turn
  const known = new Set(turn.parts.flatMap((part) => part.kind === "reasoning" && part.signature !== null ? [part.signature.value] : []))
  const parts = turn.parts.flatMap((part): ReadonlyArray<ContentPart> => {
    if (!isMoved(part)) return [part]
    const { signature } = part
    const rest: ContentPart = { ...part, signature: null }
    if (signature === null || known.has(signature.value)) return [rest]
    known.add(signature.value)
    return [{ kind: "reasoning", text: "", summary: false, signature: ofThought(signature), id: null, redacted: false }, rest]
  })
  return { ...turn, parts }
}

/** The text of such a thought is gone, but it was never redacted. */
const ofThought = (signature: Signature): Signature =>
  signature.family === "messages" && Carriers.omittedOf(signature) === null ? Carriers.ofOmitted(signature.value) : signature

const textPart = (text: string): TextPart => ({ kind: "text", text, cache: null, annotations: [], signature: null })
