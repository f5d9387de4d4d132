/**
 * What of a model a conversation cannot do without, in any format: pictures and sounds that it holds, tools that it offers, a schema that its
 * answer must have. Only what certainly is one; a guess would refuse what a model can serve. Pure.
 */
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** Media that a model must read. */
export interface Media {
  readonly vision: boolean
  readonly audio: boolean
}

export interface Demands extends Media {
  readonly tools: boolean
  readonly structuredOutput: boolean
}

export const none: Demands = { vision: false, audio: false, tools: false, structuredOutput: false }

/** Types of parts that are pictures. */
export const pictures: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image"])
const sounds: ReadonlySet<unknown> = new Set(["audio", "input_audio"])
/** Members under which formats keep turns and parts; nothing else is walked, so that a schema or a tool's arguments are no media. */
export const below = ["content", "parts", "output"] as const
/** Members of a body that hold its turns. */
export const turns = ["messages", "input", "contents"] as const
/** Levels that formats have: turn, part, result of a tool, its part. */
export const LEVELS = 4

/** The media of all turns. */
export const mediaOf = (body: Body): Media => {
  const found = { vision: false, audio: false }
  const note = (kind: unknown): void => {
    if (typeof kind !== "string") return
    if (kind.startsWith("image/")) found.vision = true
    else if (kind.startsWith("audio/")) found.audio = true
  }
  const walk = (value: unknown, levels: number): void => {
    if (Array.isArray(value)) for (const item of value) {
      if (found.vision && found.audio) return
      walkOne(item, levels)
    } else walkOne(value, levels)
  }
  const walkOne = (value: unknown, levels: number): void => {
    if (!Json.isRecord(value)) return
    const { images, type } = value
    if (pictures.has(type)) found.vision = true
    else if (sounds.has(type)) found.audio = true
    if (Array.isArray(images) && typeof images[0] === "string") found.vision = true
    const held = value["inlineData"] ?? value["inline_data"] ?? value["fileData"] ?? value["file_data"]
    if (Json.isRecord(held)) note(held["mimeType"] ?? held["mime_type"])
    if (levels > 0) for (const name of below) if (value[name] !== undefined) walk(value[name], levels - 1)
  }
  for (const name of turns) walk(body[name], LEVELS)
  return found
}

const isOffered = (tools: unknown): boolean => Array.isArray(tools) && tools.length > 0

/** JSON of any shape is no schema: most models write it when they are told to. */
const isSchema = (format: unknown): boolean => Json.isRecord(format) && format["type"] === "json_schema"

const hasSchema = (body: Body): boolean => {
  const within = (name: string): Body => Json.isRecord(body[name]) ? body[name] : {}
  const generation = Json.isRecord(body["generationConfig"]) ? body["generationConfig"] : within("generation_config")
  return isSchema(body["response_format"]) || isSchema(within("text")["format"]) || isSchema(body["output_format"]) || isSchema(within("output_config")["format"]) ||
    Json.isRecord(body["format"]) || ["responseSchema", "response_schema", "responseJsonSchema", "response_json_schema"].some((name) => Json.isRecord(generation[name]))
}

/** `media`: where they were looked for before, in a body of which `body` is the outline. */
export const of = (body: Body, media: Media | null = null): Demands => {
  const { audio, vision } = media ?? mediaOf(body)
  return { vision, audio, tools: isOffered(body["tools"]), structuredOutput: hasSchema(body) }
}
