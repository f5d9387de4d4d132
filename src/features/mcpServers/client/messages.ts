/** JSON-RPC messages between the gateway and a server of tools, and why one could not be exchanged. Pure. */
import * as Schema from "effect/Schema"

/** Bytes of one message of a server. */
export const MESSAGE_MAX = 2 * 1024 * 1024
/** Characters of a server's words that an error repeats. */
const WORDS_MAX = 300

export interface Message {
  readonly jsonrpc: "2.0"
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/**
 * Why a server gave no answer. `blocked`: the guard of outgoing URLs refused its address. `refused`: it does not accept the credentials.
 * `session_lost`: it forgot the session, and did not run the call. `rpc`: it answered with an error of the protocol.
 */
const McpFailureReason = Schema.Literals([
  "blocked", "unreachable", "refused", "closed", "session_lost", "timeout", "too_large", "protocol", "rpc", "not_started", "unavailable"
])
export type McpFailureReason = typeof McpFailureReason.Type

export class McpFailure extends Schema.TaggedError<McpFailure>()("McpFailure", {
  reason: McpFailureReason,
  /** Safe to show: credentials are masked. */
  message: Schema.String,
  /** The code of a JSON-RPC error. */
  code: Schema.optionalKey(Schema.Number)
}) {}

export const failure = (reason: McpFailureReason, message: string, code?: number): McpFailure =>
  new McpFailure({ reason, message: message.replaceAll(/\p{Cc}+/gu, " ").slice(0, WORDS_MAX), ...(code === undefined ? {} : { code }) })

const isMessage = (value: unknown): value is Message => typeof value === "object" && value !== null && !Array.isArray(value) && Reflect.get(value, "jsonrpc") === "2.0"

/** The messages of a text: one, or a batch of the protocol's older versions; null for anything else. */
export const messagesOf = (text: string): ReadonlyArray<Message> | null => {
  try {
    const value: unknown = JSON.parse(text)
    const all: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
    return all.every(isMessage) ? all : null
  } catch {
    return null
  }
}

/** Takes the given secrets out of a text of JSON, where they stand escaped. */
export const masker = (secrets: ReadonlyArray<string>): (text: string) => string => {
  const written = [...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))].sort((a, b) => b.length - a.length)
  return (text) => written.reduce((masked, secret) => masked.includes(secret) ? masked.replaceAll(secret, "[redacted]") : masked, text)
}
