/**
 * The generateContent format: `POST /v1beta/models/{model}:generateContent`, `:streamGenerateContent` and `:countTokens`, and the same
 * below Vertex AI's `/v1/projects/{project}/locations/{location}/publishers/google`.
 *
 * Stream: one chunk per token, each with the usage so far; function calls whole, at the end; the last chunk has finishReason.
 * Server-sent events with `alt=sse`, else the chunks of one JSON array. No terminal event: the end of the body is the end.
 * An answer with reasoning is signed: its first call, or else the last chunk of its text. A script's finish reason `prompt_blocked`
 * refuses the prompt itself.
 */
import { googleStreamError, renderGoogleError } from "#src/simulator/formats/errors.ts"
import type { SimulatedAnswer, SimulatedCall, Choice, Format, SimulatedUsage, WireEvent } from "#src/simulator/formats/Format.ts"
import { addressOf, readGenerateContent } from "./generateContentRequest.ts"

const FINISH: { readonly [finish: string]: string } = { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", content_filter: "SAFETY" }

const finishOf = (choice: Choice): string => FINISH[choice.finish] ?? choice.finish

const usageOf = ({ serviceTier }: SimulatedCall, usage: SimulatedUsage, completionTokens = usage.completionTokens, reasoningTokens = usage.reasoningTokens) => ({
  promptTokenCount: usage.promptTokens,
  candidatesTokenCount: completionTokens - reasoningTokens,
  totalTokenCount: completionTokens === usage.completionTokens ? usage.totalTokens : usage.promptTokens + completionTokens,
  ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
  ...(usage.cachedTokens > 0 ? { cachedContentTokenCount: usage.cachedTokens } : {}),
  ...(serviceTier === undefined ? {} : { serviceTier })
})

/** Arguments as an object; what is no JSON stays text, as a script wants it. */
const argsOf = (pieces: ReadonlyArray<string>): unknown => {
  try {
    return JSON.parse(pieces.join(""))
  } catch {
    return pieces.join("")
  }
}

/** A signature is bytes that only the vendor can read. */
const signatureOf = (answer: SimulatedAnswer, index: number): string => Buffer.from(`\u0012\u0004\u0001sim-thought-${answer.id}-${index}`).toString("base64")

/** Ids come from Gemini 3 on, and from a script that names them. */
const callParts = (call: SimulatedCall, answer: SimulatedAnswer, choice: Choice, index: number) => {
  const generation = addressOf(`/v1beta/models/${call.model}:generateContent`)?.generation ?? null
  return choice.toolCalls.map((one, i) => {
    const own = one.id !== `call_${answer.id}${index === 0 ? "" : `_${index}`}_${i}` || (generation !== null && generation >= 3)
    return {
      functionCall: { ...(own ? { id: one.id } : {}), name: one.name, args: argsOf(one.pieces) },
      ...(i === 0 && choice.reasoning.length > 0 ? { thoughtSignature: signatureOf(answer, index) } : {})
    }
  })
}

/** Signature of a text that follows thoughts and no call. */
const textSignature = (answer: SimulatedAnswer, choice: Choice, index: number) =>
  choice.reasoning.length > 0 && choice.toolCalls.length === 0 ? { thoughtSignature: signatureOf(answer, index) } : {}

const isBlocked = (answer: SimulatedAnswer): boolean => answer.choices.length > 0 && answer.choices.every((choice) => choice.finish === "prompt_blocked")

const blocked = (call: SimulatedCall, answer: SimulatedAnswer): string =>
  JSON.stringify({
    promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
    ...(answer.usage === null ? {} : { usageMetadata: { promptTokenCount: answer.usage.promptTokens, totalTokenCount: answer.usage.promptTokens } }),
    modelVersion: call.model,
    responseId: answer.id
  })

function* events(call: SimulatedCall, answer: SimulatedAnswer): Generator<WireEvent> {
  const { usage } = answer
  const sse = call.streamType === undefined
  if (isBlocked(answer)) {
    yield { data: sse ? blocked(call, answer) : `[${blocked(call, answer)}\r\n]`, tokens: 0, usage: usage !== null, terminal: true }
    return
  }
  let sent = 0
  let thought = 0
  let first = true
  const chunk = (index: number, parts: ReadonlyArray<object>, tokens: number, finish?: string): WireEvent => {
    sent += tokens
    const last = finish !== undefined && index === answer.choices.length - 1
    const json = JSON.stringify({
      candidates: [{ content: { parts, role: "model" }, ...(finish === undefined ? {} : { finishReason: finish }), index }],
      ...(usage === null ? {} : { usageMetadata: last ? usageOf(call, usage) : usageOf(call, usage, sent, thought) }),
      modelVersion: call.model,
      responseId: answer.id
    })
    const data = sse ? json : `${first ? "[" : ",\r\n"}${json}`
    first = false
    return { data, tokens, usage: last && usage !== null }
  }
  for (const [index, choice] of answer.choices.entries()) {
    for (const token of choice.reasoning) {
      thought++
      yield chunk(index, [{ text: token, thought: true }], 1)
    }
    for (const token of choice.text) yield chunk(index, [{ text: token }], 1)
    const calls = callParts(call, answer, choice, index)
    if (calls.length > 0) yield chunk(index, calls, choice.toolCalls.reduce((sum, one) => sum + one.pieces.length, 0))
    yield chunk(index, [{ text: "", ...textSignature(answer, choice, index) }], 0, finishOf(choice))
  }
  if (!sse) yield { data: first ? "[]" : "\r\n]", tokens: 0, terminal: true }
}

const body = (call: SimulatedCall, answer: SimulatedAnswer): string => {
  if ("countOnly" in call) return JSON.stringify({ totalTokens: call.promptTokens, promptTokensDetails: [{ modality: "TEXT", tokenCount: call.promptTokens }] })
  if (isBlocked(answer)) return blocked(call, answer)
  return JSON.stringify({
    candidates: answer.choices.map((choice, index) => ({
      content: {
        parts: [
          ...(choice.reasoning.length > 0 ? [{ text: choice.reasoning.join(""), thought: true }] : []),
          ...(choice.text.length > 0 || choice.toolCalls.length === 0 ? [{ text: choice.text.join(""), ...textSignature(answer, choice, index) }] : []),
          ...callParts(call, answer, choice, index)
        ],
        role: "model"
      },
      finishReason: finishOf(choice),
      index
    })),
    ...(answer.usage === null ? {} : { usageMetadata: usageOf(call, answer.usage) }),
    modelVersion: call.model,
    responseId: answer.id
  })
}

export const generateContent: Format = {
  name: "generate-content",
  matches: (path) => addressOf(path) !== null,
  identify: (path) => {
    const address = addressOf(path)
    return { model: address?.model ?? null, stream: address?.method === "streamGenerateContent" }
  },
  read: readGenerateContent,
  events,
  body,
  renderError: renderGoogleError,
  streamError: googleStreamError
}
