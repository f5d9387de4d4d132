/** What one line of a batch's input says, and why it may not be run. Pure. */
import { hash } from "node:crypto"
import type { BatchProblem } from "#schemas/batches/Batch.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import { endOfString, endOfValue, skipSpace } from "#src/wire/json/splice.ts"
import { type Line, MOST_LINE_BYTES } from "./LineCutter.ts"
import type { EndpointName } from "#schemas/records/ApiKey.ts"

/** Endpoints that a batch may ask, with what a key's `allowedEndpoints` calls each. */
export const endpoints: ReadonlyMap<string, { readonly category: EndpointName; readonly isConversation: boolean }> = new Map([
  ["/v1/chat/completions", { category: "chat", isConversation: true }],
  ["/v1/responses", { category: "chat", isConversation: true }],
  ["/v1/messages", { category: "chat", isConversation: true }],
  ["/v1/completions", { category: "chat", isConversation: true }],
  ["/v1/embeddings", { category: "embeddings", isConversation: false }],
  ["/v1/moderations", { category: "moderations", isConversation: false }],
  ["/v1/images/generations", { category: "images", isConversation: false }],
  ["/v1/videos/generations", { category: "videos", isConversation: false }]
])

const OPEN = 0x7b
const BACKSLASH = 0x5c

/** Characters of a custom_id. */
const MOST_ID = 512
/** Bytes of a custom_id's digest: two of them are never the same by chance. */
const DIGEST_BYTES = 16

export interface InputLine {
  readonly customId: string
  /** The body of the request. */
  readonly body: Buffer
}

export interface CheckedLine {
  readonly customId: string
  /** Null: the body names none. */
  readonly model: string | null
}

const problem = (line: Line, code: string, message: string, param: string | null = null): BatchProblem =>
  ({ code, message: `Line ${line.number}: ${message}`, line: line.number, param })

const noObject = (line: Line): BatchProblem => problem(line, "invalid_body", "body is a JSON object.", "body")

/** What stands around the body, unchecked. */
interface Envelope {
  readonly customId: unknown
  readonly method: unknown
  readonly url: unknown
}

/** What is wrong with it; null: nothing. */
const wrongIn = (line: Line, { customId, method, url }: Envelope, endpoint: string): BatchProblem | null => {
  if (typeof customId !== "string" || customId === "" || customId.length > MOST_ID) return problem(line, "invalid_custom_id", `custom_id is a text of 1 to ${MOST_ID} characters.`, "custom_id")
  if (method !== "POST") return problem(line, "invalid_method", "method is POST.", "method")
  return url === endpoint ? null : problem(line, "invalid_url", `url is the endpoint of the batch, ${endpoint}.`, "url")
}

const tooLong = (line: Line): BatchProblem => problem(line, "line_too_long", `a line has at most ${MOST_LINE_BYTES} bytes.`)
const noJson = (line: Line): BatchProblem => problem(line, "invalid_json_line", "it is not a valid JSON object.")

const QUOTE = 0x22
const COMMA = 0x2c
const CLOSE = 0x7d
const idName = Buffer.from('"custom_id"')
const bodyName = Buffer.from('"body"')

const isAt = (bytes: Buffer, start: number, end: number, name: Buffer): boolean => {
  if (end - start !== name.length) return false
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false
  return true
}

const hasEscape = (bytes: Buffer, start: number, end: number): boolean => {
  for (let i = start; i < end; i++) if (bytes[i] === BACKSLASH) return true
  return false
}

/**
 * Id and body of a line that was checked before. Members are compared where they stand: a map of them cost a line 1.5 kB. Null for a line
 * that needs the longer look of `outline`.
 */
const briefly = (bytes: Buffer): InputLine | null => {
  let id: Buffer | null = null
  let body: Buffer | null = null
  let i = skipSpace(bytes, 0)
  if (bytes[i] !== OPEN) return null
  do {
    const start = skipSpace(bytes, i + 1)
    if (bytes[start] !== QUOTE) return null
    const end = endOfString(bytes, start)
    if (end === -1 || hasEscape(bytes, start, end)) return null
    const value = skipSpace(bytes, skipSpace(bytes, end) + 1)
    i = endOfValue(bytes, value)
    if (i === value) return null
    if (isAt(bytes, start, end, idName)) id = bytes.subarray(value, i)
    else if (isAt(bytes, start, end, bodyName)) body = bytes.subarray(value, i)
    i = skipSpace(bytes, i)
  } while (bytes[i] === COMMA)
  if (bytes[i] !== CLOSE || id === null || body === null) return null
  const customId = Members.text(id)
  return customId === null ? null : { customId, body }
}

/** What the line says, without a look at the values inside its body. */
export const outline = (line: Line, endpoint: string): InputLine | BatchProblem => {
  if (line.bytes === null) return tooLong(line)
  const members = Members.of(line.bytes)
  if (members === null) return noJson(line)
  const customId = Members.text(members.get("custom_id"))
  const wrong = wrongIn(line, { customId, method: Members.text(members.get("method")), url: Members.text(members.get("url")) }, endpoint)
  if (wrong !== null) return wrong
  const body = members.get("body")
  return customId === null || body === undefined || body[0] !== OPEN ? noObject(line) : { customId, body }
}

/** What a line says that was checked before. */
export const known = (line: Line, endpoint: string): InputLine | BatchProblem => (line.bytes === null ? null : briefly(line.bytes)) ?? outline(line, endpoint)

/** Checks a line that was not read before: its JSON, too. A large line is checked by its outline, and by its endpoint when it is run. */
export const check = (line: Line, endpoint: string): CheckedLine | BatchProblem => {
  const { bytes } = line
  if (bytes === null) return tooLong(line)
  if (bytes.length > LARGE_BYTES || JsonBounds.excessOf(bytes) !== null) {
    const said = outline(line, endpoint)
    if (isProblem(said)) return said
    const members = Members.of(said.body)
    return members === null ? noObject(line) : { customId: said.customId, model: Members.text(members.get("model")) }
  }
  const parsed = Json.parseRecord(bytes.toString("utf8"))
  if (parsed === null) return noJson(line)
  const { body, custom_id: customId, method, url } = parsed
  const wrong = wrongIn(line, { customId, method, url }, endpoint)
  if (wrong !== null) return wrong
  if (typeof customId !== "string" || !Json.isRecord(body)) return noObject(line)
  return { customId, model: typeof body["model"] === "string" ? body["model"] : null }
}

export const isProblem = (read: InputLine | CheckedLine | BatchProblem): read is BatchProblem => "code" in read

/** Members for clients that wait for their answer. */
const unwaited = ["stream", "stream_options", "background"]

/** None of their names stands in the body, not even with an escape. */
const namesNone = (body: Buffer): boolean => !body.includes("stream") && !body.includes("background") && !body.includes(BACKSLASH)

/** The body as it is asked: a conversation is answered whole. */
export const bodyFor = (endpoint: string, { body }: InputLine): Buffer => {
  if (endpoints.get(endpoint)?.isConversation !== true || namesNone(body)) return body
  const members = new Map(Members.of(body) ?? [])
  if (!unwaited.some((name) => members.has(name))) return body
  for (const name of unwaited) members.delete(name)
  return Members.write(members)
}

/** Finds what only all lines together say: repeated ids, too many lines, the one model. Keeps short ids and digests of others, never a line. */
export class InputCheck {
  readonly #ids = new Set<string>()
  readonly #digests = new Set<string>()
  readonly #most: number
  #models: string | null | undefined
  count = 0

  constructor(mostLines: number) {
    this.#most = mostLines
  }

  /** The model that every line names; null where they name several, or one names none. */
  get model(): string | null {
    return this.#models ?? null
  }

  add(line: Line, { customId, model }: CheckedLine): BatchProblem | null {
    this.count++
    if (this.count > this.#most) return { code: "too_many_lines", message: `Line ${line.number}: the input has more than ${this.#most} requests (GATEWAY_BATCH_MAX_LINES).`, line: line.number, param: null }
    this.#models = this.#models === undefined || this.#models === model ? model : null
    if (this.#isKnown(customId)) return problem(line, "duplicate_custom_id", `the custom_id '${customId.slice(0, 100)}' was used before.`, "custom_id")
    return null
  }

  #isKnown(customId: string): boolean {
    const isShort = customId.length <= DIGEST_BYTES
    const ids = isShort ? this.#ids : this.#digests
    const kept = isShort ? customId : hash("sha256", customId, "buffer").toString("latin1", 0, DIGEST_BYTES)
    const before = ids.size
    return ids.add(kept).size === before
  }
}
