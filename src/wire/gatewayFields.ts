/**
 * Members of a request body for the gateway alone. They are never sent upstream: the vendor did not define them and may refuse
 * them.
 */
import * as Json from "#src/wire/json/json.ts"
import * as Splice from "#src/wire/json/splice.ts"

type Body = Record<string, unknown>

/** They may stand in the body itself and in its `metadata`. */
export const gatewayFields: ReadonlyArray<string> = ["disabledGuardrails"]

const holder = "metadata"

/** One of them stands here. */
const hasSome = (record: Body): boolean => {
  for (let i = 0; i < gatewayFields.length; i++) if (Object.hasOwn(record, gatewayFields[i] as string)) return true
  return false
}

const without = (record: Body, names: ReadonlyArray<string>): Body =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))

/** The body without them; the same object when it has none. A `metadata` that held nothing else goes with them. */
export const ofBody = (body: Body): Body => {
  const metadata = body[holder]
  const held = Json.isRecord(metadata) && hasSome(metadata) ? metadata : null
  if (held === null && !hasSome(body)) return body
  const own = without(body, gatewayFields)
  if (held === null) return own
  const rest = without(held, gatewayFields)
  return Object.keys(rest).length === 0 ? without(own, [holder]) : { ...own, [holder]: rest }
}

/** The same of the bytes, which stay as they came apart from that; `parsed` and `left` are the body before and after `ofBody`. */
export const ofBytes = (bytes: Buffer, parsed: Body, left: Body): Buffer => {
  const changed = [...gatewayFields, holder].filter((name) => left[name] !== parsed[name])
  const cut = changed.reduce((rest, name) => Splice.remove(rest, name), bytes)
  return changed.includes(holder) && Object.hasOwn(left, holder)
    ? Splice.edit(cut, without(left, [holder]), [{ key: holder, value: JSON.stringify(left[holder]) }]) ?? cut
    : cut
}
