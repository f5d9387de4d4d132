/**
 * Personal data in a text: addresses of e-mail, and numbers of cards, persons, companies and phones. Pure, and linear in the text: one walk
 * finds where something may begin, and each place is read for at most 255 characters.
 */
import type { Finding } from "./findings.ts"
import { isDigit, isLetter, isWordCharacter } from "./characters.ts"
import { cardEnd, isCnpj, isCpf } from "./checkDigits.ts"

const DOT = 0x2e
const DASH = 0x2d
const PLUS = 0x2b
const OPENING = 0x28

/** Longest parts of an address, characters. */
const LOCAL_MOST = 64
const DOMAIN_MOST = 190

const placeholders = {
  email: "[EMAIL_REDACTED]",
  credit_card: "[CARD_REDACTED]",
  ssn_us: "[SSN_REDACTED]",
  phone_br: "[PHONE_REDACTED]",
  phone_us: "[PHONE_REDACTED]",
  phone_international: "[PHONE_REDACTED]",
  cpf: "[CPF_REDACTED]",
  cnpj: "[CNPJ_REDACTED]"
} as const
export type Type = keyof typeof placeholders

const finding = (type: Type, start: number, end: number): Finding => ({ start, end, type, placeholder: placeholders[type] })

/** Unordered; they may overlap. */
export const find = (text: string): ReadonlyArray<Finding> => {
  const found: Array<Finding> = []
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    const email = emailAt(text, at)
    if (email !== null) found.push(email)
  }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code > 0x39 || (!isDigit(code) && code !== PLUS && code !== OPENING) || !beginsNumber(text, at)) continue
    const number = numberAt(text, at)
    if (number !== null) found.push(number)
  }
  return found
}

// ---- e-mail --------------------------------------------------------------------------------------------------------------------------

const isLocal = (code: number): boolean =>
  isLetter(code) || isDigit(code) || code === DOT || code === DASH || code === PLUS || code === 0x5f || code === 0x25 || code === 0x27

const emailAt = (text: string, at: number): Finding | null => {
  let start = at
  while (start > 0 && at - start < LOCAL_MOST && isLocal(text.charCodeAt(start - 1))) start--
  // A quote or a full stop before it is no part of it.
  while (start < at && !isWordCharacter(text.charCodeAt(start))) start++
  const end = start === at ? -1 : domainEnd(text, at + 1)
  return end === -1 ? null : { ...finding("email", start, end), core: at }
}

/** The end of the longest domain that begins here; -1 when there is none. */
const domainEnd = (text: string, from: number): number => {
  const most = Math.min(text.length, from + DOMAIN_MOST)
  let end = -1
  let label = from
  for (let at = from; at <= most; at++) {
    const code = at === most ? DOT : text.charCodeAt(at)
    if (isLetter(code) || isDigit(code) || code === DASH) continue
    if (at === label) return end
    if (label > from && at - label >= 2 && isTopLevel(text, label, at)) end = at
    if (code !== DOT) return end
    label = at + 1
  }
  return end
}

/** Letters alone, or an encoded name. */
const isTopLevel = (text: string, start: number, end: number): boolean => {
  if (text.startsWith("xn--", start)) return end - start > 4
  for (let at = start; at < end; at++) if (!isLetter(text.charCodeAt(at))) return false
  return true
}

// ---- numbers -------------------------------------------------------------------------------------------------------------------------

/** No digit or letter goes before it, neither directly nor as the first part of a longer number. */
const beginsNumber = (text: string, at: number): boolean => {
  if (at === 0) return true
  const before = text.charCodeAt(at - 1)
  if (isWordCharacter(before) || before === PLUS) return false
  const isJoint = before === DOT || before === DASH || before === 0x2f || before === 0x2c
  return !isJoint || at < 2 || !isDigit(text.charCodeAt(at - 2))
}

/** Where a number ends: no letter or digit follows, neither directly nor as a further part. */
const ended = "(?![\\p{L}\\d_]|[-./,]\\d)"
const sticky = (pattern: string): RegExp => new RegExp(`${pattern}${ended}`, "uy")

const company = sticky("(?:\\d{2}\\.\\d{3}\\.\\d{3}/\\d{4}-\\d{2}|\\d{14})")
const person = sticky("(?:\\d{3}\\.\\d{3}\\.\\d{3}-\\d{2}|\\d{11})")
const social = sticky("(?!000|666|9)\\d{3}-(?!00)\\d{2}-(?!0000)\\d{4}")
const brazilian = sticky("(?:\\+?55[ .-]?)?(?:\\([1-9][1-9]\\)[ .-]?9?\\d{4}[ .-]?\\d{4}|[1-9][1-9][ .-]9\\d{4}[ .-]\\d{4})")
const american = sticky("(?:\\([2-9]\\d{2}\\) ?[2-9]\\d{2}-\\d{4}|[2-9]\\d{2}-[2-9]\\d{2}-\\d{4}|[2-9]\\d{2}\\.[2-9]\\d{2}\\.\\d{4})")
/** E.164 with what people write between its digits. */
const international = sticky("\\+[1-9](?:[ .()-]{0,2}\\d){7,14}")

const endAt = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

const checked = (pattern: RegExp, holds: (digits: string) => boolean, text: string, at: number): number => {
  const end = endAt(pattern, text, at)
  return end !== -1 && holds(text.slice(at, end).replace(/\D/g, "")) ? end : -1
}

/** The first kind that begins here. */
const numberAt = (text: string, at: number): Finding | null => {
  const kinds: ReadonlyArray<readonly [Type, (text: string, at: number) => number]> = isDigit(text.charCodeAt(at)) ? digital : dialled
  for (const [type, end] of kinds) {
    const stop = end(text, at)
    if (stop !== -1) return finding(type, at, stop)
  }
  return null
}

const dialled: ReadonlyArray<readonly [Type, (text: string, at: number) => number]> = [
  ["phone_br", (text, at) => endAt(brazilian, text, at)],
  ["phone_us", (text, at) => endAt(american, text, at)],
  ["phone_international", (text, at) => endAt(international, text, at)]
]

const digital: ReadonlyArray<readonly [Type, (text: string, at: number) => number]> = [
  ["credit_card", cardEnd],
  ["cnpj", (text, at) => checked(company, isCnpj, text, at)],
  ["cpf", (text, at) => checked(person, isCpf, text, at)],
  ["ssn_us", (text, at) => endAt(social, text, at)],
  ["phone_br", (text, at) => endAt(brazilian, text, at)],
  ["phone_us", (text, at) => endAt(american, text, at)]
]
