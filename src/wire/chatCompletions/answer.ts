/** Whole answers, usage and errors of the chat-completions format. */
import type { UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import * as Json from "#src/wire/json/json.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import type { UpstreamCodec } from "#src/wire/WireFormat.ts"

/**
 * Usage of a whole answer or a frame, with its service tier; null when it holds none. Groq puts that of a stream into `x_groq`, Moonshot
 * into the choice that ends.
 */
export const usageIn = (body: Readonly<Record<string, unknown>>): Usage | null => {
  const usage = usageOf(body["usage"]) ?? usageOf(Json.recordAt(body, "x_groq")?.["usage"]) ?? ofChoice(body["choices"])
  return ServiceTier.served(usage, body["service_tier"])
}

const ofChoice = (choices: unknown): Usage | null => {
  const first: unknown = Array.isArray(choices) ? choices[0] : null
  return Json.isRecord(first) ? usageOf(first["usage"]) : null
}

/** Usage in the vendor's shape, or null when the value is no usage object or holds no count. */
export const usageOf = (value: unknown): Usage | null => {
  if (!Json.isRecord(value) || !Json.hasCount(value, "prompt_tokens", "completion_tokens")) return null
  const prompt = Json.recordAt(value, "prompt_tokens_details") ?? {}
  const input = Json.countAt(value, "prompt_tokens")
  const reasoning = Json.countAt(Json.recordAt(value, "completion_tokens_details") ?? {}, "reasoning_tokens")
  return {
    input,
    output: outputOf(input, Json.countAt(value, "completion_tokens"), reasoning, Json.countAt(value, "total_tokens")),
    // DeepSeek and Moonshot have names of their own for it.
    cacheRead: Json.countAt(prompt, "cached_tokens") || Json.countAt(value, "prompt_cache_hit_tokens") || Json.countAt(value, "cached_tokens"),
    // Of servers that translate, OpenRouter and Alibaba.
    cacheCreation: Json.countAt(prompt, "cache_creation_tokens") || Json.countAt(prompt, "cache_write_tokens") || Json.countAt(prompt, "cache_creation_input_tokens"),
    reasoning
  }
}

/** Tokens of the answer with its thoughts. OpenAI counts them within the completion, xAI beside it: the total shows which; 0 = none is given. */
export const outputOf = (input: number, completion: number, reasoning: number, total: number): number => {
  const isBeside = reasoning > 0 && (total === 0 ? reasoning > completion : total >= input + completion + reasoning)
  return isBeside ? completion + reasoning : completion
}

/** Error object of the common form `{error:{message, type, code}}` or `{error:"text"}`; null when there is none. */
export const errorOf = (body: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  const error = body["error"]
  if (typeof error === "string" && error !== "") return { message: error, type: null, code: null, status: null }
  if (!Json.isRecord(error)) return flatErrorOf(body)
  const code = error["code"]
  const status = error["status"]
  return {
    message: typeof error["message"] === "string" ? error["message"] : "The upstream reported an error without a message.",
    type: typeof error["type"] === "string" ? error["type"] : null,
    code: typeof code === "string" ? code : null,
    status: typeof code === "number" ? code : typeof status === "number" ? status : null,
    ...(typeof error["param"] === "string" ? { param: error["param"] } : {}),
    ...(typeof error["message"] === "string" ? { own: error } : {})
  }
}

/** `{object:"error", message, type, code}`: the form of several self-hosted servers. */
const flatErrorOf = (body: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  if (body["object"] !== "error" || typeof body["message"] !== "string") return null
  const { code, type } = body
  return {
    message: body["message"], type: typeof type === "string" ? type : null, code: typeof code === "string" ? code : null,
    status: typeof code === "number" ? code : null
  }
}

/** Facts of a whole answer that is forwarded as it came; null when it is none. */
export const readAnswer: UpstreamCodec["readAnswer"] = (answer) => {
  const error = errorOf(answer)
  const choices = answer["choices"]
  if (error === null && !Array.isArray(choices)) return null
  return { usage: usageIn(answer), error, outputText: () => textOfChoices(choices) }
}

const textOfChoices = (choices: unknown): string => {
  if (!Array.isArray(choices)) return ""
  let text = ""
  for (const choice of choices) {
    const message = Json.isRecord(choice) ? choice["message"] : null
    if (!Json.isRecord(message)) continue
    for (const key of ["reasoning_content", "reasoning", "content", "refusal"]) {
      if (typeof message[key] === "string") text += message[key]
    }
    if (Array.isArray(message["tool_calls"])) text += JSON.stringify(message["tool_calls"])
  }
  return text
}
