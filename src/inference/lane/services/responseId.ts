import * as crypto from "node:crypto"

/** The unique part of a response id: 24 characters that no other response has. */
export const makeResponseId = (): string => crypto.randomBytes(18).toString("base64url").replace(/[-_]/g, "0")
