/**
 * Calls and results of tools that a vendor runs, as text that any other model can read: their JSON without what means something to
 * that vendor alone (ids, encrypted copies, bytes).
 */
import * as Json from "#src/wire/json/json.ts"

/** Members that only the vendor can use. */
const unread: ReadonlySet<string> = new Set([
  "id", "type", "status", "call_id", "tool_use_id", "encrypted_content", "encrypted_index", "encrypted_stdout", "signature", "cache_control",
  "thoughtSignature", "thought_signature", "caller"
])
/** Longest text without a space that is no base64, characters. */
const longestWord = 1024

/** `[type] {...}` and a line end, because texts in a row are joined; "" when nothing is left to say. */
export const hostedText = (type: string, value: unknown): string => {
  const said = read(value, false)
  return said === undefined ? "" : `[${type}] ${typeof said === "string" ? said : JSON.stringify(said)}\n`
}

const read = (value: unknown, inner: boolean): unknown => {
  if (typeof value === "string") return value === "" || isBytes(value) ? undefined : value
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => read(item, true)).filter((item) => item !== undefined)
    return items.length === 0 ? undefined : items
  }
  if (!Json.isRecord(value)) return value === null ? undefined : value
  const members: Array<readonly [string, unknown]> = []
  for (const [key, member] of Object.entries(value)) {
    // The type of an inner object tells a result from an error.
    if (unread.has(key) && !(inner && key === "type")) continue
    const said = read(member, true)
    if (said !== undefined) members.push([key, said])
  }
  return members.some(([key]) => key !== "type") ? Object.fromEntries(members) : undefined
}

const isBytes = (text: string): boolean => text.length > longestWord && (text.startsWith("data:") || !/\s/.test(text.slice(0, longestWord)))

/** Types of blocks and items that a vendor's own tools leave in a conversation. */
const hosted = /tool|call|result|execution|mcp|search|compaction|approval/

export const isHosted = (type: string): boolean => hosted.test(type)

/** A history that only the vendor can open: what it holds would be lost in silence. */
export const isSealedHistory = (value: Readonly<Record<string, unknown>>): boolean =>
  typeof value["type"] === "string" && value["type"].startsWith("compaction") && typeof value["encrypted_content"] === "string" &&
  (typeof value["content"] !== "string" || value["content"] === "")
