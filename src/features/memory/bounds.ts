/** How much is remembered at most. */

/** Entries of one API key. */
export const ENTRIES = 500
/** Characters of one API key's entries, with their keys: they are read and compared where requests are served. */
export const CHARACTERS = 250_000
/** Characters of the content of one. */
export const CONTENT = 8_000
/** Characters of the metadata of one, as JSON. */
export const METADATA = 4_000
