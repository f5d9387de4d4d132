/**
 * Takes a form while it arrives: fields and small files in memory, large files into the spool, and tells of it once, when it is whole. A
 * form that is refused, cut or left leaves nothing behind.
 */
import * as Crypto from "node:crypto"
import type { Piece } from "#actors/request/ports/Body.ts"
import { PublicError } from "#schemas/errors.ts"
import type { BodyFlow, BodySink } from "#src/platform/server/body/bodySink.ts"
import type { BodyFailure } from "#src/platform/server/Exchange.ts"
import type { Spool } from "#src/platform/spool/Spool.ts"
import type { SpoolFile } from "#src/platform/spool/SpoolFile.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import type { Form, Meter, FormPart } from "#src/wire/form/Form.ts"
import * as FormReader from "#src/wire/form/FormReader.ts"
import * as FormErrors from "./formErrors.ts"

/** Bytes of the files of one form that stay in memory; from there on they go to the spool. */
export const KEPT_BYTES = 256 * 1024

export interface ReceptionOptions {
  readonly boundary: string
  readonly held: HeldBytes
  readonly spool: Spool["Service"]
  /** Reads a part while it passes; null = it is not read. */
  readonly meterOf: ((head: FormReader.PartHead) => Meter | null) | undefined
  /** The form's digest is wanted. */
  readonly digests: boolean
}

/** A whole form, or why there is none. */
export type Received = Form | PublicError | Exclude<BodyFailure, "aborted">

/** The part that is arriving. */
interface Open {
  readonly head: FormReader.PartHead
  readonly meter: Meter | null
  /** Its content while it is in memory. */
  chunks: Array<Buffer>
  length: number
  /** Where it begins in the spool; null while it is in memory. */
  from: number | null
}

export class FormReception implements BodySink {
  readonly #options: ReceptionOptions
  readonly #reader: FormReader.FormReader
  /** Null once it was called, or will not be. */
  #done: ((received: Received) => void) | null
  readonly #parts: Array<FormPart> = []
  /** Of each part: what it is called, how long it is, and the digest of its content, or where that lies in the file. */
  readonly #digests: Array<unknown> = []
  #length = 0
  #file: SpoolFile | null = null
  /** Bytes of files in memory. */
  #kept = 0
  /** Bytes that are counted as held. */
  #counted = 0
  /** Its own, and those of calls that send it. */
  #holds = 1
  #flow: BodyFlow | null = null
  /** It waits for the disk, which others keep busy. */
  #waits = false

  constructor(options: ReceptionOptions, done: (received: Received) => void) {
    this.#options = options
    this.#done = done
    this.#reader = new FormReader.FormReader(options.boundary, (head) => this.#begin(head))
  }

  /** The body that is being taken, which waits while the disk is behind. */
  set flow(flow: BodyFlow) {
    this.#flow = flow
  }

  /** The exchange gives the form up. */
  readonly release: () => void = this.#releaseOnce()

  readonly push = (bytes: Uint8Array): boolean => {
    if (this.#done === null) return true
    const refused = this.#reader.push(bytes)
    if (refused !== null) this.#end(refused)
    return this.isReady()
  }

  /** Where it is not, the body is read on when the disk has caught up. */
  readonly isReady = (): boolean => {
    if (this.#done === null) return true
    if (this.#file?.isBehind === true) return false
    const { backlog } = this.#options.spool
    if (backlog.isFull && !this.#waits) {
      this.#waits = true
      backlog.onRoom(this.#onRoom)
    }
    return !this.#waits
  }

  readonly #onRoom = (): void => {
    this.#waits = false
    this.#goOn()
  }

  #goOn(): void {
    if (this.isReady()) this.#flow?.resume()
  }

  readonly end = (): void => {
    if (this.#done === null) return
    const refused = this.#reader.end()
    if (refused !== null) this.#end(refused)
    else if (this.#file === null) this.#end(this.#form())
    else this.#file.flush((failure) => this.#end(failure === null ? this.#form() : FormErrors.ofSpool(failure)))
  }

  readonly fail = (failure: BodyFailure): void => {
    if (failure === "aborted") this.#done = null
    else this.#end(failure)
  }

  #end(received: Received): void {
    const done = this.#done
    this.#done = null
    if (done === null) return
    if (this.#flow === null) done(received)
    else this.#flow.guard(() => done(received))
  }

  #begin(head: FormReader.PartHead): FormReader.PartSink | PublicError {
    const open: Open = {
      head, meter: this.#options.meterOf?.(head) ?? null, chunks: [], length: 0, from: null
    }
    const refused = this.#count(head.lines.length)
    return refused ?? { push: (bytes) => this.#take(open, bytes), end: () => this.#close(open) }
  }

  #take(open: Open, bytes: Uint8Array): PublicError | null {
    open.meter?.push(bytes)
    open.length += bytes.length
    this.#length += bytes.length
    if (open.head.filename !== null && open.from === null && this.#kept + bytes.length > KEPT_BYTES) {
      const refused = this.#spill(open)
      if (refused !== null) return refused
    }
    if (open.from !== null) return this.#append(bytes)
    if (open.head.filename !== null) this.#kept += bytes.length
    open.chunks.push(Buffer.from(bytes))
    return this.#count(bytes.length)
  }

  /** What came of the part goes to the spool, and so does the rest of it. */
  #spill(open: Open): PublicError | null {
    const { digests, held, spool } = this.#options
    if (this.#file === null) {
      this.#file = spool.open(held, digests)
      this.#file.onChange = () => this.#changed()
    }
    open.from = this.#file.length
    for (const chunk of open.chunks) {
      const refused = this.#append(chunk)
      if (refused !== null) return refused
      this.#kept -= chunk.length
      this.#counted -= chunk.length
      held.give(chunk.length)
    }
    open.chunks = []
    return null
  }

  #append(bytes: Uint8Array): PublicError | null {
    const file = this.#file as SpoolFile
    return file.append(bytes) || file.failure === null ? null : FormErrors.ofSpool(file.failure)
  }

  /** The disk has caught up, or failed. */
  #changed(): void {
    const failure = this.#file?.failure ?? null
    if (failure !== null) this.#end(FormErrors.ofSpool(failure))
    else this.#goOn()
  }

  #count(bytes: number): PublicError | null {
    if (!this.#options.held.take(bytes)) return FormErrors.noRoom()
    this.#counted += bytes
    return null
  }

  #close({ chunks, from, head, length, meter }: Open): null {
    const content: Piece = from !== null && this.#file !== null ? this.#file.range(from, length) : chunks.length === 1 ? chunks[0] as Buffer : Buffer.concat(chunks)
    this.#parts.push({ ...head, content, measured: meter?.result() ?? null })
    if (this.#options.digests) this.#digests.push([head.name, head.filename, head.contentType, length, content instanceof Uint8Array ? Crypto.hash("sha256", content, "hex") : from])
    return null
  }

  #form(): Form {
    return {
      boundary: this.#options.boundary,
      parts: this.#parts,
      digest: this.#options.digests ? Crypto.hash("sha256", JSON.stringify([this.#digests, this.#file?.digest ?? null]), "hex") : null,
      length: this.#length,
      hold: () => {
        if (this.#holds === 0) return null
        this.#holds++
        return this.#releaseOnce()
      }
    }
  }

  #releaseOnce(): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holds--
      if (this.#holds > 0) return
      this.#done = null
      this.#options.held.give(this.#counted)
      this.#counted = 0
      this.#file?.release()
    }
  }
}
