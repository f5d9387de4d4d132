/** Ids of files. */
import { randomBytes } from "node:crypto"

const pattern = /^file-[0-9a-f]{32}$/

/** Digits at the beginning that say whose file it is. */
export const MARK_DIGITS = 8
const REST_DIGITS = 32 - MARK_DIGITS

/** `digits`: hexadecimal, at least 24. */
export const of = (mark: string, digits: string): string => `file-${mark}${digits.slice(0, REST_DIGITS)}`

export const make = (mark: string): string => of(mark, randomBytes(REST_DIGITS / 2).toString("hex"))

export const hasMark = (mark: string, id: string): boolean => id.startsWith(`file-${mark}`)

/** Anything else names no file, and never reaches a path or an address. */
export const isFileId = (text: string): boolean => pattern.test(text)
