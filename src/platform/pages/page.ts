/** What is asked of the thread that reads pages, and what it answers. */

export type PageFormat = "markdown" | "html" | "links"

export interface PageTask {
  /** In memory that threads share, or the caller's no longer. */
  readonly bytes: Uint8Array
  /** Without parameters, lower case. */
  readonly mediaType: string
  /** As the head of the answer says; null when it does not. */
  readonly charset: string | null
  /** Where it came from, after redirects: links are relative to it. */
  readonly url: string
  readonly format: PageFormat
}

export interface Page {
  readonly content: string
  readonly links: ReadonlyArray<string>
  readonly title: string | null
  readonly description: string | null
}

/** `refused`: why the page cannot be read, as a clause that goes on after "could not be read: ". */
export type PageReply = { readonly page: Page } | { readonly refused: string }

/** Media types that can be read. */
export const readable = (mediaType: string): boolean =>
  mediaType === "" || /^text\/|^application\/(?:xhtml\+xml|xml|json|pdf|rss\+xml|atom\+xml|ld\+json)$|\+(?:xml|json)$/.test(mediaType)

export const isHtml = (mediaType: string): boolean => mediaType === "" || mediaType === "text/html" || mediaType === "application/xhtml+xml"

export const isPdf = (mediaType: string): boolean => mediaType === "application/pdf"
