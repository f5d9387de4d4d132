/** The head of a response over uWebSockets, from what a route gave to what is written. */
import type { NativeResponse } from "#src/platform/server/uws/native.ts"
import { OPEN } from "#src/platform/server/exchangeState.ts"
import { HeadBeginning, noBeginning } from "#src/platform/server/HeadBeginning.ts"
import { boundedHeadBytes, headTail, statusLine } from "#src/platform/server/responseHead.ts"

export abstract class OutgoingHead {
  abstract readonly method: string
  /** Set to close the connection after this response. */
  closeConnection = false

  protected readonly res: NativeResponse
  protected state = OPEN
  protected status = 0
  /** Empty where the head begins otherwise than most. */
  private begun = noBeginning
  /** The rest of the head's text behind its first name; undefined once it is written. */
  protected head: string | undefined
  private firstName = ""
  private added: ReadonlyArray<string> | undefined
  protected headBytes = 0

  constructor(res: NativeResponse) {
    this.res = res
  }

  /** Every response closes its connection. */
  protected abstract readonly draining: boolean
  /** Nothing that the client sent behind this request may be served. */
  protected abstract readonly final: boolean

  addHeaders(headers: ReadonlyArray<string>): void {
    this.added = this.added === undefined ? headers : [...this.added, ...headers]
  }

  protected prepareHead(status: number, given: ReadonlyArray<string>): void {
    const headers = this.added === undefined ? given : [...this.added, ...given]
    if (this.state !== OPEN) throw new Error(`A second response (${status}) was given to one ${this.method} exchange`)
    statusLine(status)
    const begun = beginning.of(headers)
    const from = begun.pairs.length
    const tail = headTail(headers, from)
    this.headBytes = boundedHeadBytes(headers, from, tail, begun.name.length + begun.text.length + 4)
    this.status = status
    this.begun = begun
    this.firstName = headers[from] ?? ""
    this.head = tail
  }

  protected closing(): boolean {
    return this.draining || this.final
  }

  protected writeHead(): void {
    const { begun, head, res } = this
    this.head = undefined
    res.writeStatus(statusLine(this.status))
    if (begun !== noBeginning) res.writeHeader(begun.name, begun.text)
    if (this.firstName !== "") res.writeHeader(this.firstName, head!)
  }

  /** For all but `end`, which alone can tell the native side: there the client has to close. */
  protected writeClosingHead(): void {
    this.writeHead()
    if (this.closing()) this.res.writeHeader("Connection", "close")
  }
}

const beginning = new HeadBeginning()
