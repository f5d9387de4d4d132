/** The instructions to the models of an ensemble, as changes of the client's conversation. Pure. */
import type { Answer, Conversation, ContentPart, TextPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"

/** Characters of one answer that another model is shown; the middle of a longer one is left out. */
const longestQuote = 100_000
/** And of all answers that it is shown. */
const longestQuotes = 400_000
/** Characters of an answer that may take part in an ensemble. */
export const longestText = 1_000_000
/** Characters of all answers whose words are compared. */
const longestCompared = 200_000

export const textPart = (text: string): TextPart => ({ kind: "text", text, cache: null, annotations: [], signature: null })

const turnOf = (role: Turn["role"], text: string, path: string): Turn => ({ role, parts: [textPart(text)], name: null, path })

/** The words of the first choice; thoughts are not part of an answer. */
export const textOf = (answer: Answer): string =>
  (answer.choices[0]?.parts ?? []).map((part) => part.kind === "text" || part.kind === "refusal" ? part.text : "").join("").trim()

const cut = (text: string, most = longestQuote): string =>
  text.length <= most ? text : `${text.slice(0, most / 2)}\n[...]\n${text.slice(-most / 2)}`

/** Each answer with its share of so many characters. */
const shared = (answers: ReadonlyArray<string>, characters: number): ReadonlyArray<string> => {
  const most = Math.min(longestQuote, Math.floor(characters / answers.length))
  return answers.map((answer) => cut(answer, most))
}

/** As much of the answers as is compared. */
export const compared = (answers: ReadonlyArray<string>): ReadonlyArray<string> => shared(answers, longestCompared)

/** An answer of these words. */
export const answerOf = (text: string): Answer => ({
  id: null, model: null, createdAt: null, usage: null, serviceTier: null, systemFingerprint: null,
  choices: [{ index: 0, parts: [textPart(text)], finish: "stop", stopSequence: null, logprobs: null }]
})

/** The client offers tools, or sends their results: only a model that may call them can continue. */
export const usesTools = ({ tools, turns }: Conversation): boolean => tools.length > 0 || turns.some(({ role }) => role === "tool")

const resultText = (part: ToolResultPart): string =>
  `[Result of ${part.name ?? "a tool"}${part.isError ? ", failed" : ""}: ${part.content.map((piece) => piece.kind === "text" ? piece.text : `(${piece.kind})`).join("\n")}]`

const told = (part: ContentPart): ContentPart => {
  switch (part.kind) {
    case "toolCall":
      return textPart(`[Called ${part.name} with ${part.arguments}]`)
    case "toolResult":
      return textPart(resultText(part))
    default:
      return part
  }
}

/**
 * One whole answer in words: tools are removed and their results described in text, and it has one choice without probabilities
 * or media.
 */
export const spoken = (conversation: Conversation): Conversation => ({
  ...conversation,
  turns: conversation.turns.map((turn) =>
    turn.parts.some(({ kind }) => kind === "toolCall" || kind === "toolResult")
      ? { ...turn, role: turn.role === "tool" ? "user" as const : turn.role, parts: turn.parts.map(told) }
      : turn),
  tools: [],
  toolChoice: null,
  settings: { ...conversation.settings, choices: null, logprobs: null, topLogprobs: null, parallelToolCalls: null, modalities: null, store: null }
})

/** With one more instruction in front. */
export const instructed = (conversation: Conversation, instruction: string | null): Conversation =>
  instruction === null || instruction === "" ? conversation : { ...conversation, turns: [turnOf("system", instruction, "prompt"), ...conversation.turns] }

const asked = (conversation: Conversation, text: string): Conversation => ({ ...conversation, turns: [...conversation.turns, turnOf("user", text, "ensemble")] })

/** By number, so that the judge cannot tell which model wrote which. */
const quoted = (answers: ReadonlyArray<string>): string =>
  shared(answers, longestQuotes).map((answer, i) => `<answer number="${i + 1}">\n${answer}\n</answer>`).join("\n\n")

/** The input of the judge of a fusion: the client's conversation, then the answers of the panel. */
export const judged = (conversation: Conversation, answers: ReadonlyArray<string>): Conversation => asked(conversation, [
  `${answers.length} assistants answered the conversation above, each without knowing of the others. Their answers:`,
  quoted(answers),
  "Write the one best answer to the conversation above. Keep what is right and useful in these answers, correct what is wrong, and decide " +
    "where they contradict each other. Answer as if you were the only one who was asked: do not mention these answers, other assistants or this message."
].join("\n\n"))

/** The input of a member of a debate from its second round on. */
export const debated = (conversation: Conversation, own: string | null, others: ReadonlyArray<string>): Conversation => asked(conversation, [
  ...(own === null ? [] : [`Your answer to the conversation above was:\n\n<own_answer>\n${cut(own)}\n</own_answer>`]),
  `Others answered:`,
  quoted(others),
  "Compare them critically. Where others are right, take it over; where they are wrong, stay with your view. Write your complete revised answer to the " +
    "conversation above and nothing else: no comment on the other answers or on what you changed."
].join("\n\n"))

/** What ends a debate: one answer out of the last positions. */
export const concluded = (conversation: Conversation, positions: ReadonlyArray<string>): Conversation => asked(conversation, [
  `The conversation above was debated by ${positions.length} assistants. Their last positions:`,
  quoted(positions),
  "Write the final answer to the conversation above that this debate leads to. Where they agree, follow them; where they do not, decide. Answer as if you " +
    "were the only one who was asked: do not mention the debate, other assistants or this message."
].join("\n\n"))

/** The input of a pipeline's step behind the first: the step's own instruction and the answer of the step before it, nothing else. */
export const handedOn = (conversation: Conversation, input: string): Conversation => ({ ...conversation, turns: [turnOf("user", input, "step")] })

/** Of a step that is not the last: the shape of the answer is the last one's business. */
export const unshaped = (conversation: Conversation): Conversation => ({ ...conversation, settings: { ...conversation.settings, output: null, stop: null } })

/** Tokens that a hand-off summary may have. */
const summaryTokens = 1_000

/** The turns before the newest question: what a summary is made of. Instructions are no part of them, and calls stay with their results. */
const olderOf = ({ turns }: Conversation): { readonly first: number; readonly end: number } => {
  const end = turns.findLastIndex(({ role }) => role === "user")
  const first = turns.findIndex(({ role }) => role !== "system" && role !== "developer")
  return { first: Math.max(0, first), end: Math.max(0, end) }
}

/** The input of the model that makes a hand-off summary: the last `most` of the older messages. Null when there are none. */
export const summarised = (conversation: Conversation, most: number): Conversation | null => {
  const { end, first } = olderOf(conversation)
  if (end <= first) return null
  const said = spoken({ ...conversation, turns: conversation.turns.slice(Math.max(first, end - most), end) })
  const { settings } = said
  return {
    ...said,
    turns: [
      turnOf("system", "You prepare the hand-over of a conversation to another assistant that does not know it.", "handoff"),
      ...said.turns,
      turnOf("user",
        "Summarise the conversation so far for the assistant that goes on with it: what the user wants, what was decided and done, facts, names, numbers and " +
          "constraints that still matter, and what is open. Write the summary only.", "handoff")
    ],
    settings: { ...settings, maxTokens: settings.maxTokens === null ? summaryTokens : Math.min(settings.maxTokens, summaryTokens), output: null, stop: null },
    extras: []
  }
}

/** With the summary in front; `alone`: in the place of the older messages, because they would not fit. */
export const resumed = (conversation: Conversation, summary: string, alone: boolean): Conversation => {
  const { end, first } = olderOf(conversation)
  const turns = alone ? [...conversation.turns.slice(0, first), ...conversation.turns.slice(end)] : conversation.turns
  return instructed({ ...conversation, turns }, `Summary of the conversation so far, which another model had:\n\n${summary}`)
}
