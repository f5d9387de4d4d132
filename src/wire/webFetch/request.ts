/** A page as clients ask for it. Pure. */
import type { PublicError } from "#schemas/errors.ts"
import { invalid, reading } from "#src/wire/neutral/settings.ts"

type Body = Readonly<Record<string, unknown>>

export const formats = ["markdown", "html", "links", "screenshot"] as const
export type PageFormat = typeof formats[number]

export interface PageRequest {
  readonly url: string
  readonly format: PageFormat
  /** How many links deep. */
  readonly depth: number
  readonly selector: string | null
  readonly metadata: boolean
}

const longest = { url: 4_096, selector: 256 } as const
const deepest = 2

const isSaid = (value: unknown): boolean => value !== undefined && value !== null

const urlOf = ({ url }: Body): string => {
  const text = typeof url === "string" ? url.trim() : ""
  const parsed = text.length > longest.url ? null : URL.parse(text)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) throw invalid("url", `Field 'url' must be an http or https address of at most ${longest.url} characters.`)
  if (parsed.username !== "" || parsed.password !== "") throw invalid("url", "Field 'url' may hold no user name and no password.")
  return parsed.href
}

const formatOf = ({ format }: Body): PageFormat => {
  if (!isSaid(format)) return "markdown"
  const known = typeof format === "string" ? formats.find((one) => one === format.toLowerCase()) : undefined
  if (known === undefined) throw invalid("format", `Field 'format' must be one of ${formats.join(", ")}.`)
  return known
}

const depthOf = ({ depth }: Body): number => {
  if (!isSaid(depth)) return 0
  if (!Number.isSafeInteger(depth) || (depth as number) < 0 || (depth as number) > deepest) throw invalid("depth", `Field 'depth' must be a whole number from 0 to ${deepest}.`)
  return depth as number
}

const selectorOf = ({ wait_for_selector: selector }: Body): string | null => {
  if (!isSaid(selector)) return null
  if (typeof selector !== "string" || selector === "" || selector.length > longest.selector || /\p{Cc}/u.test(selector)) {
    throw invalid("wait_for_selector", `Field 'wait_for_selector' must be a text of 1 to ${longest.selector} characters.`)
  }
  return selector
}

const metadataOf = ({ include_metadata: metadata }: Body): boolean => {
  if (isSaid(metadata) && typeof metadata !== "boolean") throw invalid("include_metadata", "Field 'include_metadata' must be true or false.")
  return metadata === true
}

/** The request, or the first field that is wrong. */
export const read = (body: Body): PageRequest | PublicError =>
  reading(() => ({ url: urlOf(body), format: formatOf(body), depth: depthOf(body), selector: selectorOf(body), metadata: metadataOf(body) }))
