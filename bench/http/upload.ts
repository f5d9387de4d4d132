/** The form of an upload, and what the mock answers to it: the digest of its file as it arrived. */
import { createHash } from "node:crypto"
import type { Expected } from "./payload.ts"
import { soundOf } from "./sound.ts"

export const uploadPath = "/audio/transcriptions"
const boundary = "----------------------------bench4711"
/** From here on the form is the same through every target; before it stands the model, which a gateway renames. */
const fileMark = Buffer.from("filename=")
const modelName = "m-upload"

export interface Upload {
  readonly contentType: string
  readonly body: Buffer
}

export const uploadOf = (modelPrefix: string, megabytes: number): Upload => ({
  contentType: `multipart/form-data; boundary=${boundary}`,
  body: Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n${modelPrefix}${modelName}\r\n`),
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="sound.bin"\r\nContent-Type: audio/mpeg\r\n\r\n`),
    soundOf(megabytes * 1_048_576),
    Buffer.from(`\r\n--${boundary}--\r\n`)
  ])
})

/** Reads the body of one upload as it comes. */
export class UploadReader {
  /** Bytes that are still to come. */
  left: number
  readonly #hash = createHash("sha256")
  #begin: Buffer | null = Buffer.alloc(0)

  constructor(length: number) {
    this.left = length
  }

  /** Answers how many of the bytes were the upload's. */
  push(bytes: Buffer): number {
    const own = bytes.subarray(0, this.left)
    this.left -= own.length
    if (this.#begin === null) this.#hash.update(own)
    else {
      this.#begin = Buffer.concat([this.#begin, own])
      const at = this.#begin.indexOf(fileMark)
      if (at >= 0) {
        this.#hash.update(this.#begin.subarray(at))
        this.#begin = null
      }
    }
    return own.length
  }

  answer(): Buffer {
    return answerOf(this.#hash.digest("hex"))
  }
}

const answerOf = (digest: string): Buffer => Buffer.from(JSON.stringify({ text: digest }))

/** What the client of an upload must receive. */
export const expectedUpload = ({ body }: Upload): Expected =>
  ({ bytes: answerOf(createHash("sha256").update(body.subarray(body.indexOf(fileMark))).digest("hex")), stamps: 0, stampAt: 0, period: 1, events: false })
