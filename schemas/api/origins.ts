/** The setting `corsOrigins`: origins separated by commas or spaces, as browsers write them. */

/** The origins, or null where an entry is none; `*` is none. */
export const parse = (text: string): ReadonlyArray<string> | null => {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== "")
  const origins = entries.map((entry) => /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+\/?$/i.test(entry) ? entry.toLowerCase().replace(/\/$/, "").replace(/^(http:.*):80$|^(https:.*):443$/, "$1$2") : null)
  return origins.every((origin) => origin !== null) ? origins : null
}
