/** What a vendor that fetches pages says in its own way. Pure. */
import type { StatusReason } from "#schemas/statusReason.ts"
import type { PageFormat, PageRequest } from "./request.ts"

export type Members = Readonly<Record<string, unknown>>

/** A page as the vendor gave it; what it did not say is null. */
export interface Fetched {
  readonly content: string | null
  readonly links: ReadonlyArray<string> | null
  readonly title: string | null
  readonly description: string | null
  readonly screenshot: string | null
}

export interface FetchVendor {
  readonly formats: ReadonlySet<PageFormat>
  readonly waits: boolean
  /** Its ways to say that its plan or its credit is used up: another vendor of the pool is asked, as after a rate limit. */
  readonly spent: ReadonlySet<StatusReason>
  readonly ask: (request: PageRequest) => Members
  /** Headers beside the credential's, flat. */
  readonly headers?: (request: PageRequest) => ReadonlyArray<string>
  /** Null when it is no answer; a text when the vendor says why there is no page. */
  readonly fetched: (answer: Members, format: PageFormat) => Fetched | string | null
}

export const nothing: Fetched = { content: null, links: null, title: null, description: null, screenshot: null }

export const texts = (value: unknown): ReadonlyArray<string> | null => Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : null
