/** What a thrown value says; not everything that is thrown is an Error. */

export const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** The `code` of an error of node or OpenSSL, such as `ENOENT`; "" without one. */
export const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : ""
