/** What a client sent, for as long as it is needed. */
import * as Json from "#src/wire/json.ts"

/** Prompts up to this many bytes are kept for the tokenizer; longer ones are counted by their length. */
const keptPromptBytes = 64 * 1024

/** The request's body while it may still be sent; afterwards only what the tokenizer may ask for. */
export class Prompt {
  body: Buffer
  parsed: Record<string, unknown>
  private readonly length: number
  constructor(body: Buffer, parsed: Record<string, unknown>) {
    this.body = body
    this.parsed = parsed
    this.length = body.length
  }

  release(): void {
    this.parsed = released
    if (this.length > keptPromptBytes) this.body = noBytes
  }

  /** Text of messages and tools, asked for only if an upstream gives no usage; a long prompt is represented by its length. */
  text(): string {
    if (this.length > keptPromptBytes) return " word".repeat(Math.ceil(this.length / 5))
    const parsed = this.parsed === released ? Json.parseRecord(this.body.toString("utf8")) ?? released : this.parsed
    return textOf(parsed["messages"]) + textOf(parsed["tools"])
  }
}

const released: Record<string, unknown> = {}
const noBytes = Buffer.alloc(0)

const textOf = (value: unknown): string => {
  if (typeof value === "string") return value.startsWith("data:") ? "" : `${value}\n`
  if (Array.isArray(value)) return value.map(textOf).join("")
  return Json.isRecord(value) ? Object.values(value).map(textOf).join("") : ""
}
