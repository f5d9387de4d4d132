/** What an operator's preset says of an answer where the client says nothing: over the neutral conversation, and over a body in the client's own format. Pure. */
import type { PayloadEdit } from "#actors/request/ports/Target.ts"
import type { Conversation, FamilyName } from "#schemas/wire/conversation.ts"
import type { GenerationPreset } from "#schemas/words/ModelFormats.ts"
import { wantsNewLimit } from "#src/wire/chatCompletions/models.ts"
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

export const ofConversation = ({ maxOutputTokens, stopSequences, temperature, topK, topP }: GenerationPreset, conversation: Conversation): Conversation => {
  const { settings } = conversation
  return {
    ...conversation,
    settings: {
      ...settings,
      temperature: settings.temperature ?? temperature ?? null,
      topP: settings.topP ?? topP ?? null,
      topK: settings.topK ?? topK ?? null,
      maxTokens: settings.maxTokens ?? maxOutputTokens ?? null,
      stop: settings.stop ?? stopSequences ?? null
    }
  }
}

/** A format's names of a setting, the one that is written first. */
type Names = Readonly<Record<keyof GenerationPreset, ReadonlyArray<string>>>

const top: Pick<Names, "temperature" | "topP" | "topK"> = { temperature: ["temperature"], topP: ["top_p"], topK: ["top_k"] }

const namesOf: Readonly<Record<FamilyName, Names>> = {
  "chat-completions": { ...top, maxOutputTokens: ["max_tokens", "max_completion_tokens"], stopSequences: ["stop"] },
  "messages": { ...top, maxOutputTokens: ["max_tokens"], stopSequences: ["stop_sequences"] },
  "responses": { ...top, topK: [], maxOutputTokens: ["max_output_tokens"], stopSequences: [] },
  "generateContent": {
    temperature: ["temperature"], topP: ["topP", "top_p"], topK: ["topK", "top_k"], maxOutputTokens: ["maxOutputTokens", "max_output_tokens"],
    stopSequences: ["stopSequences", "stop_sequences"]
  },
  "local-model-server": { ...top, maxOutputTokens: ["num_predict"], stopSequences: ["stop"] }
}

/** The member that holds them, in all its spellings. */
const within: Partial<Record<FamilyName, readonly [string, ...ReadonlyArray<string>]>> = {
  "generateContent": ["generationConfig", "generation_config"], "local-model-server": ["options"]
}

const settings = ["temperature", "topP", "topK", "maxOutputTokens", "stopSequences"] as const
const samplers: ReadonlySet<keyof GenerationPreset> = new Set(["temperature", "topP", "topK"])

/** One vendor refuses samplers beside thinking. */
const thinks = (family: FamilyName, body: Body): boolean => {
  const thinking = family === "messages" ? Json.recordAt(body, "thinking") : null
  return thinking !== null && thinking["type"] !== "disabled"
}

const isSaid = (value: unknown): boolean => value !== undefined && value !== null

/** Null is nothing said. */
export const editsOf = (preset: GenerationPreset, family: FamilyName, model: string, body: Body): ReadonlyArray<PayloadEdit> => {
  const places = within[family]
  const place = places?.find((name) => isSaid(body[name])) ?? places?.[0]
  const held = place === undefined ? body : Json.recordAt(body, place) ?? {}
  const thinking = thinks(family, body)
  return settings.flatMap((setting): ReadonlyArray<PayloadEdit> => {
    const value = preset[setting]
    const names = namesOf[family][setting]
    const [first] = names
    if (value === undefined || first === undefined || names.some((name) => isSaid(held[name])) || (thinking && samplers.has(setting))) return []
    const name = first === "max_tokens" && family === "chat-completions" && wantsNewLimit(model) ? "max_completion_tokens" : first
    return [{ kind: "override", path: place === undefined ? [name] : [place, name], text: JSON.stringify(value) }]
  })
}
