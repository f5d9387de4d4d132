/** What a site's robots.txt says about a page (RFC 9309). Pure, and bounded for hostile files. */

/** The gateway's name in these files. */
const TOKEN = "gateway"
/** Rules that are looked at. */
const MOST_RULES = 5_000
/** Characters of a rule that are looked at; longer ones are left out. */
const MOST_CHARACTERS = 2_000

interface Rule {
  readonly allow: boolean
  /** Texts that follow each other in the path; the first one begins it. */
  readonly pieces: ReadonlyArray<string>
  /** The last text ends the path. */
  readonly ends: boolean
  readonly length: number
}

export interface Robots {
  readonly rules: ReadonlyArray<Rule>
}

export const everything: Robots = { rules: [] }

/** One spelling for each path: what needs no escape has none, and escapes are upper case. */
const normal = (text: string): string => text.toWellFormed()
  .replaceAll(/[^\x21-\x7e]/gu, (one) => encodeURIComponent(one))
  .replaceAll(/%[0-9a-f]{2}/gi, (escape) => {
    const one = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return /[\w.~-]/.test(one) ? one : escape.toUpperCase()
  })

const ruleOf = (allow: boolean, value: string): Rule => {
  const ends = value.endsWith("$")
  const pattern = normal(ends ? value.slice(0, -1) : value)
  return { allow, ends, length: pattern.length, pieces: pattern.split("*") }
}

/** The rules of the groups that name the gateway, else of those for everyone. */
export const parse = (text: string): Robots => {
  const named: Array<Rule> = []
  const common: Array<Rule> = []
  let isNamed = false
  let isCommon = false
  let hasRules = true
  let wasNamed = false
  for (const line of text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/)) {
    const [, key = "", value = ""] = /^\s*([a-z-]+)\s*:\s*([^#]*?)\s*(?:#.*)?$/i.exec(line.slice(0, MOST_CHARACTERS + 100)) ?? []
    switch (key.toLowerCase()) {
      case "user-agent": {
        // An agent behind rules begins the next group.
        if (hasRules) isNamed = isCommon = hasRules = false
        const agent = /^[\w-]+|^\*/.exec(value)?.[0].toLowerCase()
        isNamed ||= agent === TOKEN
        isCommon ||= agent === "*"
        break
      }
      case "allow":
      case "disallow": {
        hasRules = true
        if (value === "" || value.length > MOST_CHARACTERS) break
        const rule = ruleOf(key.toLowerCase() === "allow", value)
        if (isNamed && named.length < MOST_RULES) named.push(rule)
        if (isCommon && common.length < MOST_RULES) common.push(rule)
        break
      }
      default:
        break
    }
    wasNamed ||= isNamed
  }
  return { rules: wasNamed ? named : common }
}

const fits = ({ ends, pieces }: Rule, path: string): boolean => {
  const [first = "", ...rest] = pieces
  if (!path.startsWith(first)) return false
  let at = first.length
  for (const [i, piece] of rest.entries()) {
    if (ends && i === rest.length - 1) return path.length - piece.length >= at && path.endsWith(piece)
    const found = path.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return !ends || at === path.length
}

/** The longest rule decides; of two equally long ones the one that allows. */
export const allows = ({ rules }: Robots, url: URL): boolean => {
  if (url.pathname === "/robots.txt") return true
  const path = normal(`${url.pathname}${url.search}`)
  let best: Rule | null = null
  for (const rule of rules) {
    if (best !== null && (rule.length < best.length || (rule.length === best.length && best.allow))) continue
    if (fits(rule, path)) best = rule
  }
  return best === null || best.allow
}
