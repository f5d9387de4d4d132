/** Tags by which callers know a reply again (RFC 9110, section 8.8.3). Pure. */

/** If-None-Match names the tag: alone, in a list, as a weak one, or all tags by `*`. */
export const hasTag = (header: string | undefined, etag: string): boolean =>
  header !== undefined && (header.trim() === "*" || [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag))
