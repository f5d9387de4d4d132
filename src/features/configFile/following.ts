/** What another gateway declares, before it is applied here: it may name no variable and make no key of its own choice. Pure. */
import type * as Schema from "effect/Schema"
import { scopeRank } from "#actors/keys/scopes.ts"
import type { RecordKind } from "#schemas/FileOwned.ts"
import { sections, variablesIn } from "./read.ts"

type Json = Schema.Json
type Fields = Readonly<Record<string, Json>>
type Environment = Readonly<Record<string, string | undefined>>

/** Of the variables that another gateway's declarations can read: all else in the environment is closed to them. */
export const PREFIX = "GATEWAY_SYNC_"

export interface Waiting {
  readonly kind: RecordKind
  readonly name: string
  readonly message: string
}

export interface Followed {
  readonly content: Readonly<Record<string, Fields>>
  /** Entries that stay as they were, and why. */
  readonly waiting: ReadonlyArray<Waiting>
  /** What `${NAME}` stands for. */
  readonly environment: Environment
}

const isFields = (value: Json | undefined): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)

/** `${NAME}` is the variable GATEWAY_SYNC_NAME. The object has no members but them. */
const opened = (environment: Environment): Environment => {
  const found = Object.create(null) as Record<string, string>
  for (const [name, value] of Object.entries(environment)) if (name.startsWith(PREFIX) && value !== undefined && value !== "") found[name.slice(PREFIX.length)] = value
  return found
}

const ownKey = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/

const objectionTo = (kind: RecordKind, entry: Json, environment: Environment): string | null => {
  if (kind === "key") {
    if (!isFields(entry) || typeof entry["key"] !== "string" || !ownKey.test(entry["key"])) return "A key of another gateway needs its value in a variable"
    const { scopes } = entry
    if (Array.isArray(scopes) && scopeRank(scopes.map(String)) > 0) return "A key that manages is not taken from another gateway"
  }
  const missing = [...variablesIn(JSON.stringify(entry))].filter((name) => environment[name] === undefined)
  return missing.length === 0 ? null : `Set ${missing.map((name) => PREFIX + name).join(", ")} here`
}

/** Flags are not followed: they guard this gateway. */
export const follow = (config: Fields, environment: Environment): Followed => {
  const open = opened(environment)
  const waiting: Array<Waiting> = []
  const content: Record<string, Fields> = {}
  for (const [section, kind] of Object.entries(sections)) {
    const entries = config[section]
    if (kind === "flag" || !isFields(entries)) continue
    content[section] = Object.fromEntries(Object.entries(entries).filter(([name, entry]) => {
      const message = objectionTo(kind, entry, open)
      if (message !== null) waiting.push({ kind, name, message })
      return message === null
    }))
  }
  return { content, waiting, environment: open }
}
