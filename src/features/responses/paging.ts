/** Pages of items as the vendor lists them: `limit`, `order` (newest first unless `asc`) and `after`, the id of the last item seen. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"

const MOST = 100

/** `items`: the oldest first. */
export const pageOf = (items: ReadonlyArray<Readonly<Record<string, unknown>>>, query: URLSearchParams, of: string): string | PublicError => {
  const limit = Number(query.get("limit") ?? 20)
  const order = query.get("order") ?? "desc"
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST) return Errors.make("bad_request", `'limit' is a whole number from 1 to ${MOST}.`, { extra: { param: "limit" } })
  if (order !== "asc" && order !== "desc") return Errors.make("bad_request", "'order' is asc or desc.", { extra: { param: "order" } })
  const ordered = order === "desc" ? items.toReversed() : items
  const after = query.get("after")
  const from = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== null && from === 0) return Errors.make("bad_request", `'after' names no item of this ${of}.`, { extra: { param: "after" } })
  const data = ordered.slice(from, from + limit)
  return listed(data, from + limit < ordered.length)
}

export const listed = (data: ReadonlyArray<Readonly<Record<string, unknown>>>, hasMore: boolean): string =>
  JSON.stringify({ object: "list", data, first_id: data[0]?.["id"] ?? null, last_id: data.at(-1)?.["id"] ?? null, has_more: hasMore })
