/**
 * The built-in models: an id is a name, up to two numbers and a pace, `<name>[-<n>[-<m>]][@<ms per token>]`, and stands for a script.
 */
import type { Script } from "./Script.ts"

interface BuiltIn {
  readonly name: string
  /** An id to show in lists. */
  readonly example: string
  readonly about: string
  readonly script: (n: number | undefined, m: number | undefined) => Script | undefined
}

const DEFAULT_TOKENS = 20
const DEFAULT_CUT = 3
const UNICODE = "Grüße, 世界! 👩‍🚀 naïve café ✓ Привет 🌍 — done."

export const BUILT_IN: ReadonlyArray<BuiltIn> = [
  { name: "echo", example: "echo", about: "answers with the last user text", script: () => ({ answer: "echo" }) },
  { name: "tokens", example: "tokens-100", about: "answers with n words", script: (n) => ({ tokens: n ?? DEFAULT_TOKENS }) },
  { name: "tools", example: "tools", about: "calls the first tool; after its result, answers with text", script: () => ({ answer: "tools" }) },
  { name: "reason", example: "reason", about: "n tokens of reasoning, then the echo", script: (n) => ({ answer: "reason", reasoning: n ?? 8 }) },
  { name: "unicode", example: "unicode", about: "answers with multi-byte text", script: () => ({ text: UNICODE, tokenSize: 2 }) },
  {
    name: "slow",
    example: "slow",
    about: "500 ms to the head, 500 ms to the first token, 100 ms a token",
    script: (n) => ({ tokens: n ?? DEFAULT_TOKENS, latencyMs: 500, ttftMs: 500, paceMs: 100 })
  },
  {
    name: "error",
    example: "error-429-2",
    about: "refuses with status n, Retry-After m",
    script: (n, m) => n === undefined || n < 400 || n > 599 ? undefined : { status: n, ...(m === undefined ? {} : { retryAfter: m }) }
  },
  { name: "hang", example: "hang", about: "never sends a head", script: () => ({ neverHead: true }) },
  {
    name: "stall",
    example: "stall-3",
    about: "silent after n frames until the client leaves",
    script: (n) => ({ tokens: DEFAULT_TOKENS, hangAfter: { frames: n ?? DEFAULT_CUT } })
  },
  {
    name: "reset",
    example: "reset-3",
    about: "connection reset after n frames",
    script: (n) => ({ tokens: DEFAULT_TOKENS, resetAfter: { frames: n ?? DEFAULT_CUT } })
  },
  {
    name: "close",
    example: "close-3",
    about: "connection closed (FIN) after n frames",
    script: (n) => ({ tokens: DEFAULT_TOKENS, closeAfter: { frames: n ?? DEFAULT_CUT } })
  },
  {
    name: "cut",
    example: "cut-3",
    about: "body ended cleanly after n frames, without a terminal event",
    script: (n) => ({ tokens: DEFAULT_TOKENS, endAfter: { frames: n ?? DEFAULT_CUT } })
  },
  {
    name: "broken",
    example: "broken-3",
    about: "an error object in the stream after n frames",
    script: (n) => ({ tokens: DEFAULT_TOKENS, malformed: [{ kind: "error", at: n ?? DEFAULT_CUT }] })
  },
  { name: "bytes", example: "bytes", about: "the echo, one byte per chunk", script: () => ({ answer: "echo", split: "byte" }) },
  { name: "embed", example: "embed", about: "for embeddings; in a chat, the echo", script: () => ({ answer: "echo" }) },
  { name: "html", example: "html", about: "an HTML page with status 200", script: () => ({ html: true }) }
]

const FORM = /^([a-z]+)(?:-(\d{1,9}))?(?:-(\d{1,9}))?(?:@(\d{1,6}(?:\.\d{1,3})?))?$/

/** The script a built-in model id stands for, or undefined when there is no such model. */
export const scriptOf = (model: string): Script | undefined => {
  const form = FORM.exec(model)
  if (form === null) return undefined
  const [, name, n, m, pace] = form
  const number = (text: string | undefined): number | undefined => text === undefined ? undefined : Number(text)
  const script = BUILT_IN.find((one) => one.name === name)?.script(number(n), number(m))
  return script === undefined || pace === undefined ? script : { ...script, paceMs: Number(pace) }
}
