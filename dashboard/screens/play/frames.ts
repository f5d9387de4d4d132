/** Splits a stream into frames: events of `text/event-stream`, or lines of JSON. The same bytes cut anywhere give the same frames. */

export interface Frame {
  /** The bytes as they came, without the blank line behind them. */
  readonly raw: string
  /** Null for what is no JSON object, such as `[DONE]` and comments. */
  readonly value: Readonly<Record<string, unknown>> | null
}

const parse = (text: string): Frame["value"] => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Readonly<Record<string, unknown>> : null
  } catch {
    return null
  }
}

export class FrameSplitter {
  readonly #isEvents: boolean
  #rest = ""
  #lines: Array<string> = []

  constructor(contentType: string) {
    this.#isEvents = contentType.includes("event-stream")
  }

  /** The frames that are complete with this text. */
  push(text: string): ReadonlyArray<Frame> {
    const lines = (this.#rest + text).split("\n")
    this.#rest = lines.pop() ?? ""
    return lines.flatMap((line) => this.#take(line.endsWith("\r") ? line.slice(0, -1) : line))
  }

  /** What stood behind the last line end. */
  end(): ReadonlyArray<Frame> {
    const rest = this.#rest
    this.#rest = ""
    return [...(rest === "" ? [] : this.#take(rest)), ...this.#take("")]
  }

  #take(line: string): ReadonlyArray<Frame> {
    if (!this.#isEvents) return line === "" ? [] : [{ raw: line, value: parse(line) }]
    if (line !== "") {
      this.#lines.push(line)
      return []
    }
    if (this.#lines.length === 0) return []
    const data = this.#lines.filter((part) => part.startsWith("data:")).map((part) => part.slice(part.startsWith("data: ") ? 6 : 5)).join("\n")
    const frame = { raw: this.#lines.join("\n"), value: parse(data) }
    this.#lines = []
    return [frame]
  }
}
