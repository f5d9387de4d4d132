/** Pure helpers for request heads, which are flat arrays: lower-case name, value, name, value. */

/** The value by lower-case name; repeated headers joined with `, `. */
export const findHeader = (headers: ReadonlyArray<string>, name: string): string | undefined => {
  let found: string | undefined
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== name) continue
    const value = headers[i + 1]!
    found = found === undefined ? value : `${found}${name === "cookie" ? "; " : ", "}${value}`
  }
  return found
}

/** What the head says about the body: its length, `-1` for chunked, `0` for none, `null` when it contradicts itself. */
export const declaredLength = (headers: ReadonlyArray<string>): number | null => {
  let length = 0
  let seen: string | undefined
  let chunked = false
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    // Both names of interest are long: the length test spares most string comparisons.
    if (name.length < 14) continue
    if (name === "content-length") {
      const value = headers[i + 1]!
      // Two lengths that differ are how requests are smuggled past a proxy that believes the other one.
      if (seen !== undefined && seen !== value) return null
      seen = value
      length = digits.test(value) ? Number(value) : NaN
      if (!Number.isSafeInteger(length)) return null
    } else if (name === "transfer-encoding") {
      chunked = true
    }
  }
  if (chunked) return seen === undefined ? -1 : null
  return length
}

const digits = /^\d{1,15}$/
