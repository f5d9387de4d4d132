/**
 * Where the long strings of a request stand in its bytes. The bytes are walked side by side with what JSON.parse made of them, key
 * by key, so that a literal that is found is the very one a string came from; a body in which the two part (a key twice, a key with
 * escapes, numbers as keys, which JSON.parse sorts) is given up on.
 */
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Requests are not nested deeper; JSON.parse takes any depth, the stack does not. */
const deepest = 64

/** A literal without its quotes. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** The ranges of all strings of at least `shortest` characters, by the string; null when the body cannot be followed. */
export const find = (body: Buffer, parsed: Readonly<Record<string, unknown>>, shortest: number): ReadonlyMap<string, Range> | null => {
  const walk = new Walk(body, shortest)
  return walk.object(parsed, true) ? walk.found : null
}

class Walk {
  readonly found = new Map<string, Range>()
  private readonly body: Buffer
  private readonly shortest: number
  private at = 0
  private depth = 0

  constructor(body: Buffer, shortest: number) {
    this.body = body
    this.shortest = shortest
  }

  /** `grown`: members that the gateway added (what the path said) stand behind those of the body. */
  object(value: Readonly<Record<string, unknown>>, grown: boolean): boolean {
    if (!this.take(0x7b)) return false
    const keys = Object.keys(value)
    if (this.take(0x7d)) return grown || keys.length === 0
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string
      if (!this.key(key) || !this.take(0x3a) || !this.value(value[key])) return false
      if (this.take(0x2c)) continue
      return this.take(0x7d) && (grown || i === keys.length - 1)
    }
    return false
  }

  private value(value: unknown): boolean {
    this.skipSpace()
    if (typeof value === "string") return this.string(value)
    if (typeof value !== "object" || value === null) return this.word()
    if (++this.depth > deepest) return false
    const follows = Array.isArray(value) ? this.array(value) : this.object(value as Readonly<Record<string, unknown>>, false)
    this.depth--
    return follows
  }

  private array(values: ReadonlyArray<unknown>): boolean {
    if (!this.take(0x5b)) return false
    if (values.length === 0) return this.take(0x5d)
    for (let i = 0; i < values.length; i++) {
      if (!this.value(values[i]) || !this.take(i === values.length - 1 ? 0x5d : 0x2c)) return false
    }
    return true
  }

  private string(value: string): boolean {
    const start = this.at + 1
    const end = this.literal()
    if (end === -1) return false
    if (value.length >= this.shortest) this.found.set(value, { start, end })
    return true
  }

  private key(key: string): boolean {
    this.skipSpace()
    const start = this.at + 1
    const end = this.literal()
    return end !== -1 && this.body.toString("utf8", start, end) === key
  }

  /** Steps over the literal that begins here; answers where its closing quote is, -1 when there is none. */
  private literal(): number {
    const { body } = this
    if (body[this.at] !== QUOTE) return -1
    const start = this.at + 1
    for (let end = body.indexOf(QUOTE, start); end !== -1; end = body.indexOf(QUOTE, end + 1)) {
      let i = end - 1
      while (i >= start && body[i] === BACKSLASH) i--
      if ((end - 1 - i) % 2 !== 0) continue
      this.at = end + 1
      return end
    }
    return -1
  }

  /** A number, true, false or null. */
  private word(): boolean {
    const start = this.at
    for (let byte = this.body[start]; byte !== undefined && isWordByte(byte); byte = this.body[this.at]) this.at++
    return this.at > start
  }

  private take(byte: number): boolean {
    this.skipSpace()
    if (this.body[this.at] !== byte) return false
    this.at++
    return true
  }

  private skipSpace(): void {
    const { body } = this
    for (let byte = body[this.at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = body[this.at]) this.at++
  }
}

/** Letters, digits, `+`, `-`, `.`. */
const isWordByte = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x2d || byte === 0x2e || byte === 0x2b || byte === 0x45
