/** Ids of files. */
import { randomBytes } from "node:crypto"

const pattern = /^file-[0-9a-f]{32}$/

export const make = (): string => `file-${randomBytes(16).toString("hex")}`

/** Anything else names no file, and never reaches a path or an address. */
export const isFileId = (text: string): boolean => pattern.test(text)
