/** Numbers that check themselves: cards by Luhn's formula (ISO/IEC 7812-1), CPF and CNPJ by their two last digits. */
import { isDigit, isWordCharacter } from "./characters.ts"

const SPACE = 0x20
const DASH = 0x2d

/** Digits of a card number. */
const CARD_LEAST = 13
const CARD_MOST = 19

const holdsLuhn = (digits: string): boolean => {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 0x30
    const twice = digit * 2
    sum += i % 2 === 0 ? digit : twice > 9 ? twice - 9 : twice
  }
  return sum % 10 === 0
}

/** Beginnings of card networks' numbers, with the lengths that each one issues. */
const issued: ReadonlyArray<readonly [RegExp, ReadonlyArray<number>]> = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[0-9]|2[2-7])/, [16]],
  [/^3[47]/, [15]],
  [/^3(?:0|6|8|9)/, [14, 16, 19]],
  [/^35/, [16, 19]],
  [/^6/, [16, 17, 18, 19]]
]

/** Sizes of groups that cards are printed in: fours with a rest, or one of the two forms with a long middle. */
const isPrinted = (groups: ReadonlyArray<number>): boolean => {
  // In one piece, a longer number is more often an id.
  if (groups.length === 1) return (groups[0] as number) <= 16
  const text = groups.join()
  return text === "4,6,5" || text === "4,6,4" || groups.slice(0, -1).every((size) => size === 4) && (groups.at(-1) as number) <= 4
}

/** Another group may follow these: what cannot become a card is read no further. */
const maySeparate = (groups: ReadonlyArray<number>): boolean => groups.at(-1) === 4 || (groups.length === 2 && groups[1] === 6)

/** The end of the longest card number that begins at this digit; -1 when there is none. */
export const cardEnd = (text: string, from: number): number => {
  let digits = ""
  let end = -1
  let separator = 0
  const groups = [0]
  for (let at = from; digits.length < CARD_MOST && isDigit(text.charCodeAt(at)); at++) {
    digits += text[at]
    groups[groups.length - 1] = (groups.at(-1) as number) + 1
    const next = text.charCodeAt(at + 1)
    if (isDigit(next)) continue
    if (digits.length >= CARD_LEAST && endsNumber(text, at + 1) && isPrinted(groups) && isCard(digits)) end = at + 1
    if ((next !== SPACE && next !== DASH) || (separator !== 0 && next !== separator) || !maySeparate(groups)) break
    separator = next
    groups.push(0)
    at++
  }
  return end
}

const isCard = (digits: string): boolean =>
  issued.some(([beginning, lengths]) => lengths.includes(digits.length) && beginning.test(digits)) && holdsLuhn(digits)

/** A fraction or a letter behind it makes it another number. */
const endsNumber = (text: string, at: number): boolean => {
  const next = text.charCodeAt(at)
  return !isWordCharacter(next) && !((next === 0x2e || next === DASH || next === 0x2f || next === 0x2c) && isDigit(text.charCodeAt(at + 1)))
}

/** The remainder of 11 that a check digit is of the digits before it, with these weights. */
const checkOf = (digits: string, weights: ReadonlyArray<number>): number => {
  const sum = weights.reduce((total, weight, i) => total + weight * (digits.charCodeAt(i) - 0x30), 0)
  return sum % 11 < 2 ? 0 : 11 - sum % 11
}

const holds = (digits: string, first: ReadonlyArray<number>, second: ReadonlyArray<number>): boolean =>
  !/^(\d)\1*$/.test(digits) &&
  checkOf(digits, first) === digits.charCodeAt(first.length) - 0x30 && checkOf(digits, second) === digits.charCodeAt(second.length) - 0x30

export const isCpf = (digits: string): boolean =>
  holds(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2], [11, 10, 9, 8, 7, 6, 5, 4, 3, 2])

export const isCnpj = (digits: string): boolean =>
  holds(digits, [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
