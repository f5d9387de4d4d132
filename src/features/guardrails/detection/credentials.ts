/**
 * Credentials in a text: keys in the formats of well-known vendors, signed tokens, bearer tokens and private keys. Pure, and linear in the
 * text: each pattern is a fixed beginning and one run of characters, so that no part of the text is read for two ways to match.
 */
import type { Finding } from "./findings.ts"

interface Shape {
  readonly type: string
  /** What a key begins with. */
  readonly begins: string
  /** Characters of the rest, of which there is at least so many; absent: `begins` is all. */
  readonly run?: string
  readonly least?: number
}

const dashed = "A-Za-z0-9_-"
const plain = "A-Za-z0-9"
const dotted = "A-Za-z0-9_.-"

const shapes: ReadonlyArray<Shape> = [
  { type: "anthropic_key", begins: "sk-ant-", run: dashed, least: 20 },
  { type: "openrouter_key", begins: "sk-or-", run: dashed, least: 20 },
  { type: "openai_key", begins: "sk-", run: dashed, least: 20 },
  { type: "google_key", begins: "AIza", run: dashed, least: 35 },
  { type: "google_token", begins: "ya29\\.", run: dashed, least: 20 },
  { type: "aws_access_key", begins: "(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])" },
  { type: "github_token", begins: "gh[pousr]_", run: plain, least: 36 },
  { type: "github_token", begins: "github_pat_", run: dashed, least: 22 },
  { type: "gitlab_token", begins: "glpat-", run: dashed, least: 20 },
  { type: "slack_token", begins: "(?:xox[abeoprs]|xapp)-", run: dashed, least: 10 },
  { type: "stripe_key", begins: "[rs]k_(?:live|test)_", run: plain, least: 16 },
  { type: "npm_token", begins: "npm_", run: plain, least: 36 },
  { type: "pypi_token", begins: "pypi-", run: dashed, least: 16 },
  { type: "huggingface_token", begins: "hf_", run: plain, least: 30 },
  { type: "groq_key", begins: "gsk_", run: plain, least: 40 },
  { type: "xai_key", begins: "xai-", run: plain, least: 40 },
  { type: "perplexity_key", begins: "pplx-", run: plain, least: 40 },
  { type: "sendgrid_key", begins: "SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}(?![A-Za-z0-9_-])" },
  { type: "jwt", begins: "eyJ[A-Za-z0-9_-]{10,190}\\.eyJ", run: dotted, least: 10 }
]

const bearerRun = "A-Za-z0-9._~+/=-"
const runs: ReadonlyMap<string, RegExp> = new Map([dashed, plain, dotted, bearerRun].map((run) => [run, new RegExp(`[${run}]`)]))

/** One pattern of all, in which the index of the group says which shape it is. */
const keys = new RegExp(`(?<![A-Za-z0-9_-])(?:${shapes.map(({ begins, least, run }) => `(${begins}${run === undefined ? "" : `[${run}]{${least},}`})`).join("|")})`, "g")
const bearer = new RegExp(`(?<![A-Za-z0-9])bearer[ \\t]{1,4}(?=[${bearerRun}]{16})`, "gi")

const isBearer = runs.get(bearerRun) as RegExp

const opening = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const closing = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
export const BLOCK_BEGINS = "-----BEGIN"
const BLOCK_ENDS = "-----END"
/** Longest line that begins or ends a block, characters. */
export const BLOCK_LINE_MOST = 80
/** A block without an end is at most this long, characters behind its first line. */
const BLOCK_MOST = 16_384

const placeholderOf = (type: string): string => `[REDACTED:${type}]`

/** Unordered; they may overlap. */
export const find = (text: string): ReadonlyArray<Finding> => {
  const found: Array<Finding> = []
  keys.lastIndex = 0
  for (let match = keys.exec(text); match !== null; match = keys.exec(text)) {
    const { run, type } = shapes[match.findIndex((group, i) => i > 0 && group !== undefined) - 1] as Shape
    found.push(ranging(type, match.index, match.index + match[0].length, text, run))
  }
  bearer.lastIndex = 0
  for (let match = bearer.exec(text); match !== null; match = bearer.exec(text)) {
    const [word] = match
    let end = match.index + word.length
    while (end < text.length && isBearer.test(text[end] as string)) end++
    // The word stays, and is a part of the finding: a token alone looks like any other text.
    found.push({ ...ranging("bearer_token", match.index, end, text, bearerRun), placeholder: word + placeholderOf("bearer_token") })
  }
  for (let at = text.indexOf(BLOCK_BEGINS); at !== -1; at = text.indexOf(BLOCK_BEGINS, at + 1)) {
    opening.lastIndex = at
    if (!opening.test(text)) continue
    const { end, left } = blockEnd(text, opening.lastIndex, BLOCK_MOST)
    const block = { start: at, end, type: "private_key", placeholder: placeholderOf("private_key") }
    found.push(left === 0 ? block : { ...block, open: { kind: "block", left } })
    at = end - 1
  }
  return found
}

const ranging = (type: string, start: number, end: number, text: string, run: string | undefined): Finding => {
  const finding = { start, end, type, placeholder: placeholderOf(type) }
  return run === undefined || end < text.length ? finding : { ...finding, open: { kind: "run", of: runs.get(run) as RegExp } }
}

/** Where a block ends of which `most` characters may follow here; `left`: how many may follow behind this text, 0 when it has ended. */
export const blockEnd = (text: string, from: number, most: number): { readonly end: number; readonly left: number } => {
  // No further than a block is long, so that many beginnings without an end cost linear time.
  const near = text.slice(from, from + most + BLOCK_LINE_MOST)
  for (let at = near.indexOf(BLOCK_ENDS); at !== -1 && at < most; at = near.indexOf(BLOCK_ENDS, at + 1)) {
    closing.lastIndex = at
    if (closing.test(near)) return { end: from + closing.lastIndex, left: 0 }
  }
  const length = Math.min(near.length, most)
  return { end: from + length, left: most - length }
}
