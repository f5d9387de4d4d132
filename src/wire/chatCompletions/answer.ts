/** Whole answers, usage and errors of the chat-completions format. */
import type { UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import * as Json from "#src/wire/json/json.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import type { UpstreamCodec } from "#src/wire/WireFormat.ts"

/** Usage in the vendor's shape, or null when the value is no usage object or holds no count. */
export const usageOf = (value: unknown): Usage | null => {
  if (!Json.isRecord(value) || !Json.hasCount(value, "prompt_tokens", "completion_tokens")) return null
  const prompt = Json.recordAt(value, "prompt_tokens_details")
  const completion = Json.recordAt(value, "completion_tokens_details")
  return {
    input: Json.countAt(value, "prompt_tokens"),
    output: Json.countAt(value, "completion_tokens"),
    cacheRead: prompt === null ? Json.countAt(value, "prompt_cache_hit_tokens") : Json.countAt(prompt, "cached_tokens"),
    cacheCreation: prompt === null ? 0 : Json.countAt(prompt, "cache_creation_tokens"),
    reasoning: completion === null ? 0 : Json.countAt(completion, "reasoning_tokens")
  }
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
  return { usage: ServiceTier.served(usageOf(answer["usage"]), answer["service_tier"]), error, outputText: () => textOfChoices(choices) }
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
