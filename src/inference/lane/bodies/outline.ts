/**
 * What is kept of a large request beside its bytes: its settings whole, of its long lists the last item, of its long texts the beginning.
 * Of a long list of tools those stay, too, that the client only names: their vendor runs them.
 * Enough for routing, limits, commands and what an answer repeats; never enough for a model, which is sent the bytes.
 */
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** Characters and values that stay whole, of all members together: an outline crosses to the loop's thread, which copies it. */
const wholeCharacters = 256 * 1024
const wholeValues = 25_000
/** And of the last item of a list. */
const itemCharacters = 4_096
const itemValues = 100
/** Characters that stay of a text. */
const cutCharacters = 64
/** And of a text at the top: more than any setting may have, so that a model id that is too long stays too long. */
const settingCharacters = 1_024

interface Room {
  characters: number
  values: number
}

/** Takes the value's room when there is enough. */
const fits = (value: unknown, room: Room): boolean => {
  const left = { ...room }
  if (!take(value, left)) return false
  room.characters = left.characters
  room.values = left.values
  return true
}

const take = (value: unknown, room: Room): boolean => {
  if (--room.values < 0) return false
  if (typeof value === "string") return (room.characters -= value.length) >= 0
  if (Array.isArray(value)) return value.every((item) => take(item, room))
  if (!Json.isRecord(value)) return true
  for (const name of Object.keys(value)) {
    room.characters -= name.length
    if (room.characters < 0 || !take(value[name], room)) return false
  }
  return true
}

/** The same kind of value, shorter. */
const shortened = (value: unknown): unknown => {
  if (typeof value === "string") return value.slice(0, cutCharacters)
  if (Array.isArray(value)) return value.length === 0 ? [] : [itemOf(value.at(-1))]
  return Json.isRecord(value) ? {} : value
}

/** An object with what it says in short: a medium's kind stays, and of its bytes the beginning. */
const membersOf = (record: Body): Body => Object.fromEntries(Object.entries(record).slice(0, itemValues).map(([name, value]) => [
  name.slice(0, cutCharacters), Array.isArray(value) ? [] : shortened(value)
]))

const itemOf = (item: unknown): unknown => {
  if (fits(item, { characters: itemCharacters, values: itemValues })) return item
  return Json.isRecord(item) ? membersOf(item) : shortened(item)
}

/** Tools that stay beside the last one: more than vendors take. */
const mostTools = 256

/** The client says what the tool takes, and runs it. */
const isClients = (tool: unknown): boolean =>
  !Json.isRecord(tool) || tool["type"] === "function" || tool["type"] === "custom" || (tool["type"] === undefined && tool["input_schema"] !== undefined)

const toolsOf = (tools: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  [...tools.slice(0, -1).filter((tool) => !isClients(tool)).slice(0, mostTools), ...tools.slice(-1)].map(itemOf)

const shortOf = (name: string, value: unknown): unknown => {
  if (typeof value === "string") return value.slice(0, settingCharacters)
  if (name === "tools" && Array.isArray(value)) return toolsOf(value)
  return Json.isRecord(value) ? membersOf(value) : shortened(value)
}

/** The settings of a body; of its long texts the beginning, of its long lists the last item. */
export const outlineOf = (body: Body): Record<string, unknown> => {
  const room: Room = { characters: wholeCharacters, values: wholeValues }
  // A name may be `__proto__`.
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name.slice(0, wholeCharacters), fits(value, room)
    ? value
    : shortOf(name, value)]))
}
