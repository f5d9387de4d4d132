/** The pictures of a conversation in any format, and texts in their places; every other byte stays. Pure. */
import { LEVELS, below, pictures, turns } from "#src/routing/capabilities/demands.ts"
import { each, type Edits, Removal, Value } from "#src/wire/json/edits.ts"
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** A picture as a question of its own may hold it: the part of its format, or the bytes in base64 where the format has no parts. */
export type Picture = Body | string

/** Asked for each picture, in the order of the conversation; null: it stays. */
type Say = (picture: Picture) => string | null

const isMember = (names: ReadonlyArray<string>, name: string | number): boolean => typeof name === "string" && names.includes(name)

/** What changes when each picture becomes what `say` answers; null when nothing does. */
export const read = (body: Body, say: Say): Edits | null => each(body, (value, name) => isMember(turns, name) ? walk(value, LEVELS, say) : null)

/** All of them. */
export const of = (body: Body): ReadonlyArray<Picture> => {
  const found: Array<Picture> = []
  read(body, (picture) => {
    found.push(picture)
    return null
  })
  return found
}

const walk = (value: unknown, levels: number, say: Say): Edits | null =>
  Array.isArray(value) ? each(value, (item) => one(item, levels, say)) : one(value, levels, say)

const one = (value: unknown, levels: number, say: Say): Edits | null => {
  if (!Json.isRecord(value)) return null
  const held = heldIn(value)
  if (held !== null) return inPlace(say({ [held]: value[held] }), (text) => ({ text }))
  const { cache_control: mark, ...picture } = value
  const { content, images, type } = picture
  if (pictures.has(type)) {
    return inPlace(say(picture), (text) => ({ type: type === "input_image" ? "input_text" : "text", text, ...mark === undefined ? {} : { cache_control: mark } }))
  }
  // A content of parts belongs to another format, which has no such pictures.
  if (Array.isArray(images) && typeof images[0] === "string" && !Array.isArray(content)) return besideText(content, images, say)
  return levels === 0 ? null : each(value, (child, name) => isMember(below, name) ? walk(child, levels - 1, say) : null)
}

const heldNames = ["inlineData", "inline_data", "fileData", "file_data"] as const

/** The member of a part of generate-content that holds a picture. */
const heldIn = (part: Body): (typeof heldNames)[number] | null => heldNames.find((name) => {
  const held = part[name]
  const kind = Json.isRecord(held) ? held["mimeType"] ?? held["mime_type"] : null
  return typeof kind === "string" && kind.startsWith("image/")
}) ?? null

const inPlace = (text: string | null, part: (text: string) => Body): Edits | null => text === null ? null : new Value(part(text))

/** Pictures of the local model server stand beside the message's text, which goes on with what they show. */
const besideText = (content: unknown, images: ReadonlyArray<unknown>, say: Say): Edits | null => {
  const texts = images.map((image) => typeof image === "string" ? say(image) : null)
  if (texts.every((text) => text === null)) return null
  const said = [...typeof content === "string" && content !== "" ? [content] : [], ...texts.filter((text) => text !== null)]
  return new Map<string, Edits>([["content", new Value(said.join("\n"))], ["images", new Removal()]])
}
