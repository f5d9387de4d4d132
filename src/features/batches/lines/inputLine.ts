/** What one line of a batch's input says, and why it may not be run. Pure. */
import { createHash } from "node:crypto"
import type { BatchProblem } from "#schemas/batches/Batch.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import * as Members from "#src/wire/json/members.ts"
import { type Line, MOST_LINE_BYTES } from "./LineCutter.ts"

/** Endpoints that a batch may ask, with what a key's `allowedEndpoints` calls each. */
export const endpoints: ReadonlyMap<string, { readonly category: string; readonly isConversation: boolean }> = new Map([
  ["/v1/chat/completions", { category: "chat", isConversation: true }],
  ["/v1/responses", { category: "chat", isConversation: true }],
  ["/v1/messages", { category: "chat", isConversation: true }],
  ["/v1/completions", { category: "chat", isConversation: true }],
  ["/v1/embeddings", { category: "embeddings", isConversation: false }],
  ["/v1/moderations", { category: "moderations", isConversation: false }],
  ["/v1/images/generations", { category: "images", isConversation: false }],
  ["/v1/videos/generations", { category: "videos", isConversation: false }]
])

/** Characters of a custom_id. */
export const MOST_ID = 512
/** Bytes of a custom_id's digest: two of them are never the same by chance. */
const DIGEST_BYTES = 16

export interface InputLine {
  readonly customId: string
  readonly model: string | null
  /** The body of the request. */
  readonly body: Buffer
}

const problem = (line: Line, code: string, message: string, param: string | null = null): BatchProblem =>
  ({ code, message: `Line ${line.number}: ${message}`, line: line.number, param })

/** A large line is checked by its outline; the endpoint reads the rest when the line is run. */
const isJson = (bytes: Buffer): boolean => {
  if (bytes.length > LARGE_BYTES || JsonBounds.excessOf(bytes) !== null) return true
  try {
    JSON.parse(bytes.toString("utf8"))
    return true
  } catch {
    return false
  }
}

export const read = (line: Line, endpoint: string): InputLine | BatchProblem => {
  const { bytes } = line
  if (bytes === null) return problem(line, "line_too_long", `a line has at most ${MOST_LINE_BYTES} bytes.`)
  const members = Members.of(bytes)
  if (members === null || !isJson(bytes)) return problem(line, "invalid_json_line", "it is not a valid JSON object.")
  const customId = Members.text(members.get("custom_id"))
  if (customId === null || customId === "" || customId.length > MOST_ID) return problem(line, "invalid_custom_id", `custom_id is a text of 1 to ${MOST_ID} characters.`, "custom_id")
  if (Members.text(members.get("method")) !== "POST") return problem(line, "invalid_method", "method is POST.", "method")
  if (Members.text(members.get("url")) !== endpoint) return problem(line, "invalid_url", `url is the endpoint of the batch, ${endpoint}.`, "url")
  const body = members.get("body")
  const said = body === undefined ? null : Members.of(body)
  if (body === undefined || said === null) return problem(line, "invalid_body", "body is a JSON object.", "body")
  return { customId, model: Members.text(said.get("model")), body }
}

export const isProblem = (read: InputLine | BatchProblem): read is BatchProblem => "code" in read

/** Members for clients that wait for their answer. */
const unwaited = ["stream", "stream_options", "background"]

/** The body as it is asked: a conversation is answered whole. */
export const bodyFor = (endpoint: string, { body }: InputLine): Buffer => {
  if (endpoints.get(endpoint)?.isConversation !== true) return body
  const members = new Map(Members.of(body) ?? [])
  if (!unwaited.some((name) => members.has(name))) return body
  for (const name of unwaited) members.delete(name)
  return Members.write(members)
}

/** Finds what only all lines together say: repeated ids, too many lines, the one model. Keeps a digest of each id, never a line. */
export class InputCheck {
  readonly #ids = new Set<string>()
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

  add(line: Line, { customId, model }: InputLine): BatchProblem | null {
    this.count++
    if (this.count > this.#most) return { code: "too_many_lines", message: `Line ${line.number}: the input has more than ${this.#most} requests (GATEWAY_BATCH_MAX_LINES).`, line: line.number, param: null }
    this.#models = this.#models === undefined || this.#models === model ? model : null
    const digest = createHash("sha256").update(customId).digest().toString("latin1", 0, DIGEST_BYTES)
    if (this.#ids.has(digest)) return problem(line, "duplicate_custom_id", `the custom_id '${customId.slice(0, 100)}' was used before.`, "custom_id")
    this.#ids.add(digest)
    return null
  }
}
