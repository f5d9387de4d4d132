/** Takes credentials out of what an upstream says before a client, a log or a row has it. Pure. */
import * as Redacted from "effect/Redacted"
import type { Target } from "#actors/request/ports/Target.ts"

const MASK = "[redacted]"

/** Keys by the vendors' prefixes, and what follows `Bearer`. */
const secretLike = /\b(?:sk|pk|gsk|xai|key|gwa_live|gwa_sync)[-_][A-Za-z0-9_*.-]{6,}|\bAIza[A-Za-z0-9_-]{10,}|Bearer\s+\S+/g
/** Words with a hyphen stay: a key has a digit or a star in it. */
const isSecret = (run: string): boolean => /[0-9*]/.test(run) || /^(?:AIza|Bearer)/.test(run)
/** A key with its middle left out, as vendors quote it. */
const isShortened = (run: string): boolean => run.includes("***")

/** A value of fewer characters is no credential worth the name, and would be found in plain words. */
const shortestSecret = 8
/** A part of so many characters, one of them a digit, gives a credential away. */
const tellingPart = 8

/** Longest text of a member, and size of a document: what is beyond is cut. */
const maxText = 4_096
const maxDepth = 8
const maxValues = 1_000

/** Removes one call's credentials from texts and documents. */
export interface Masking {
  readonly text: (text: string) => string
  /** A copy of bounded size: what is deeper, longer or more than that is cut. */
  readonly document: (document: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
}

/** `sent`: the flat request headers of the call, which hold the credential; the target's path may hold another. */
export const of = (target: Target, sent: ReadonlyArray<string>): Masking => {
  const secrets = secretsOf(target, sent)
  let parts: ReadonlySet<string> | null = null
  const text = (plain: string): string => {
    let masked = plain
    for (const secret of secrets) masked = masked.replaceAll(secret, MASK)
    // Each pattern takes a whole run, and is judged after: one that looks ahead reads a long run again from each of its characters.
    masked = masked.replace(secretLike, (run) => isSecret(run) ? MASK : run).replace(/[A-Za-z0-9_*-]+/g, (run) => isShortened(run) ? MASK : run)
    if (secrets.length === 0) return masked
    const telling = parts ??= partsOf(secrets)
    return masked.replace(/[A-Za-z0-9_.~+/=-]{8,}/g, (word) => holdsPart(word, telling) ? MASK : word)
  }
  let values = 0
  const walk = (value: unknown, depth: number): unknown => {
    if (++values > maxValues || depth > maxDepth) return null
    if (typeof value === "string") return text(value.length > maxText ? value.slice(0, maxText) : value)
    if (Array.isArray(value)) return value.slice(0, maxValues).map((item) => walk(item, depth + 1))
    return typeof value === "object" && value !== null ? members(value, depth) : value
  }
  const members = (record: object, depth: number): Readonly<Record<string, unknown>> => {
    const out: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(record)) {
      if (values >= maxValues) break
      out[text(name)] = walk(value, depth + 1)
    }
    return out
  }
  return {
    text,
    document: (document) => {
      values = 0
      return members(document, 0)
    }
  }
}

/** Headers that carry a credential by their names; a key of repetition is none. */
const isSecretHeader = (name: string): boolean => /auth|key|token|secret/.test(name) && name !== "idempotency-key"

const secretsOf = (target: Target, sent: ReadonlyArray<string>): ReadonlyArray<string> => {
  const secrets = new Set<string>()
  const add = (value: string): void => {
    if (value.length >= shortestSecret) secrets.add(value)
  }
  for (const headers of [target.headers, sent]) {
    for (let i = 0; i < headers.length; i += 2) {
      if (isSecretHeader(headers[i] as string)) add((headers[i + 1] as string).replace(/^\w+ /, ""))
    }
  }
  // What is stored and not sent (a token that was exchanged, a provider without keys) is as secret.
  const { connection } = target
  for (const stored of connection === null ? [] : [connection.apiKey, connection.accessToken, connection.refreshToken, connection.idToken]) {
    if (stored !== null && stored !== undefined) add(Redacted.value(stored))
  }
  // Some vendors take the key as a query parameter.
  const query = target.path.indexOf("?")
  if (query !== -1) for (const [name, value] of new URLSearchParams(target.path.slice(query))) if (isSecretHeader(name)) add(value)
  return [...secrets]
}

/** All telling parts. */
const partsOf = (secrets: ReadonlyArray<string>): ReadonlySet<string> => {
  const parts = new Set<string>()
  for (const secret of secrets) {
    for (let at = 0; at + tellingPart <= secret.length; at++) {
      const part = secret.slice(at, at + tellingPart)
      if (/\d/.test(part)) parts.add(part)
    }
  }
  return parts
}

const holdsPart = (word: string, parts: ReadonlySet<string>): boolean => {
  for (let at = 0; at + tellingPart <= word.length; at++) if (parts.has(word.slice(at, at + tellingPart))) return true
  return false
}
