/**
 * Composes the answer to a call from its script: which tokens, which tool calls, why it stopped, what usage is reported.
 */
import type { SimulatedAnswer, AnsweredToolCall, SimulatedCall, Choice, SimulatedUsage } from "./formats/Format.ts"
import type { Script } from "./Script.ts"
import { sampleOf, tokenize, words } from "./text.ts"

const DEFAULT_TOKENS = 20

const jsonText = (call: SimulatedCall): string =>
  JSON.stringify(call.json?.schema === undefined ? { echo: call.lastUserText } : sampleOf(call.json.schema))

const textOf = (call: SimulatedCall, script: Script): ReadonlyArray<string> => {
  const size = script.tokenSize
  if (script.text !== undefined) return tokenize(script.text, size)
  if (script.tokens !== undefined) return words(script.tokens, size)
  if (call.json !== null) return tokenize(jsonText(call), size)
  if (script.answer === "tokens") return words(DEFAULT_TOKENS, size)
  if (call.toolResult !== null) return tokenize(`The tool answered: ${call.toolResult}`, size)
  return tokenize(call.lastUserText, size)
}

const reasoningOf = (script: Script): ReadonlyArray<string> => {
  if (script.reasoning === undefined) return []
  return typeof script.reasoning === "number" ? words(script.reasoning, script.tokenSize) : tokenize(script.reasoning, script.tokenSize)
}

const toolCallsOf = (call: SimulatedCall, script: Script, id: string): ReadonlyArray<AnsweredToolCall> => {
  const answered = (index: number, name: string, args: unknown, own?: string): AnsweredToolCall => ({
    id: own ?? `call_${id}_${index}`,
    name,
    // A string is taken as it is, so that a script can send arguments that are no JSON.
    pieces: tokenize(typeof args === "string" ? args : JSON.stringify(args ?? {}), script.tokenSize)
  })
  if (script.toolCalls !== undefined) {
    return script.toolCalls.map((one, index) => answered(index, one.name, one.arguments, one.id))
  }
  const choice = call.toolChoice
  if (call.tools.length === 0 || choice === "none") return []
  if (typeof choice !== "string") {
    return [answered(0, choice.name, sampleOf(call.tools.find((tool) => tool.name === choice.name)?.parameters ?? { type: "object" }))]
  }
  if (choice !== "required" && (script.answer !== "tools" || call.toolResult !== null)) return []
  const tool = call.tools[0]!
  return [answered(0, tool.name, sampleOf(tool.parameters ?? { type: "object" }))]
}

/** Cuts the text before the first stop sequence. */
const cutAtStop = (tokens: ReadonlyArray<string>, stop: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (stop.length === 0) return tokens
  const text = tokens.join("")
  const at = Math.min(...stop.map((one) => text.indexOf(one)).filter((index) => index >= 0))
  if (at === Infinity) return tokens
  const kept: Array<string> = []
  let length = 0
  for (const token of tokens) {
    if (length >= at) break
    kept.push(token.slice(0, at - length))
    length += token.length
  }
  return kept
}

const choiceOf = (call: SimulatedCall, script: Script, id: string): Choice => {
  let toolCalls = toolCallsOf(call, script, id)
  // A call is an answer of its own; a script that names a text as well gets both.
  const silent = toolCalls.length > 0 && script.text === undefined && script.tokens === undefined
  let text = silent ? [] : cutAtStop(textOf(call, script), call.stop)
  let reasoning = reasoningOf(script)
  let finish = toolCalls.length > 0 ? "tool_calls" : "stop"
  if (call.maxTokens !== null) {
    let left = call.maxTokens
    const take = (tokens: ReadonlyArray<string>): ReadonlyArray<string> => {
      const kept = tokens.slice(0, left)
      left -= kept.length
      if (kept.length < tokens.length) finish = "length"
      return kept
    }
    reasoning = take(reasoning)
    text = take(text)
    toolCalls = toolCalls.map((one) => ({ ...one, pieces: take(one.pieces) }))
  }
  return { reasoning, text, toolCalls, finish: script.finishReason ?? finish }
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((a, b) => a + b, 0)

export const completionTokens = (choices: ReadonlyArray<Choice>): number =>
  sum(choices.map((choice) => choice.reasoning.length + choice.text.length + sum(choice.toolCalls.map((call) => call.pieces.length))))

const usageOf = (call: SimulatedCall, script: Script, choices: ReadonlyArray<Choice>): SimulatedUsage | null => {
  if (script.usage === "omit") return null
  const over = script.usage ?? {}
  const promptTokens = over.promptTokens ?? call.promptTokens
  const completion = over.completionTokens ?? completionTokens(choices)
  return {
    promptTokens,
    completionTokens: completion,
    totalTokens: over.totalTokens ?? promptTokens + completion,
    cachedTokens: over.cachedTokens ?? 0,
    cacheWriteTokens: over.cacheWriteTokens ?? 0,
    reasoningTokens: over.reasoningTokens ?? sum(choices.map((choice) => choice.reasoning.length))
  }
}

/** `id` is the unique part of every id of the answer; `nowMs` the present in milliseconds since the epoch. */
export const compose = (call: SimulatedCall, script: Script, id: string, nowMs: number): SimulatedAnswer => {
  const choices = call.embeddings !== undefined ? [] : Array.from({ length: call.n }, (_, i) => choiceOf(call, script, i === 0 ? id : `${id}_${i}`))
  return {
    id,
    created: Math.floor(nowMs / 1000),
    choices,
    usage: usageOf(call, script, choices),
    usageOn: script.usageOn ?? "vendor"
  }
}
