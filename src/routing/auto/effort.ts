/** X-Gateway-Effort: auto — a reasoning effort from the shape of the request. Pure. */
import type { Conversation, FamilyName } from "#schemas/wire/conversation.ts"

export type AutoEffort = "low" | "medium" | "high"

/** What the effort is read from: only what every call of one tool loop has in common. */
export interface EffortShape {
  /** Text of the newest turn that a person wrote. */
  readonly text: string
  readonly tools: number
  readonly media: boolean
  readonly structured: boolean
}

/** Characters of the newest user turn that are looked at. */
const readCharacters = 8_192
const longText = 2_000
const shortText = 160
const manyTools = 8

const hard = /\b(prove|proof|derive|theorem|algorithm|complexity|architect\w*|refactor\w*|debug\w*|optimi[sz]e|step[- ]by[- ]step|root cause|trade-?offs?|race condition)\b/i
const code = /```|\b(function|class|import|SELECT|def|const)\b.{0,80}[({;:=]/

/** High for long, hard or heavily tooled requests, low for short plain ones, medium between. */
export const effortOf = ({ media, structured, text, tools }: EffortShape): AutoEffort => {
  const read = text.slice(0, readCharacters)
  if (text.length > longText || hard.test(read) || tools > manyTools) return "high"
  const plain = text.length <= shortText && tools === 0 && !media && !structured && !code.test(read)
  return plain ? "low" : "medium"
}

/**
 * The shape at the newest turn of a person: tool calls and results after it change nothing. A user turn right behind a tool's
 * results belongs to the loop (agents put reminders there).
 */
export const shapeOf = ({ settings, tools, turns }: Pick<Conversation, "settings" | "tools" | "turns">): EffortShape => {
  let text = ""
  let media = false
  for (let i = turns.length - 1; i >= 0; i--) {
    const turn = turns[i]
    if (turn === undefined || turn.role !== "user" || turns[i - 1]?.role === "tool") continue
    for (const part of turn.parts) {
      if (part.kind === "text") text = text === "" ? part.text : `${text}\n${part.text}`
      else if (part.kind !== "opaque") media = true
    }
    break
  }
  return { text, media, tools: tools.length, structured: settings.output !== null }
}

/** The effort to ask for; null when the header does not say `auto`, or the client said anything about reasoning itself. */
export const autoEffort = (header: string | undefined, clientAskedReasoning: boolean, shape: () => EffortShape): AutoEffort | null =>
  clientAskedReasoning || header === undefined || header.trim().toLowerCase() !== "auto" ? null : effortOf(shape())

/** The member that says an effort in a body of this family, as JSON; null where it is more than one member (budgets, limits, nesting). */
export const effortEdits = (family: FamilyName, effort: AutoEffort): ReadonlyArray<{ readonly key: string; readonly value: string }> | null => {
  switch (family) {
    case "chat-completions": return [{ key: "reasoning_effort", value: `"${effort}"` }]
    case "responses": return [{ key: "reasoning", value: `{"effort":"${effort}"}` }]
    default: return null
  }
}

/** The conversation of a client that did not ask to see thoughts, for families that show them by default. */
export const unshown = (conversation: Conversation, family: FamilyName): Conversation => family !== "generateContent" ? conversation : {
  ...conversation,
  settings: { ...conversation.settings, reasoning: { enabled: null, effort: null, budget: null, summary: "omitted" } }
}
