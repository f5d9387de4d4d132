/**
 * The sealed part of an archive: frames of AES-256-GCM under a key of its own. Each frame is authenticated with its number, with the
 * archive's header, and with whether it is the last one, so that no frame can be altered, moved, left out or cut off.
 *
 * A frame is `length:u32 tag:16 ciphertext`; the highest bit of the length marks the last one.
 */
import { createCipheriv, createDecipheriv, createHash } from "node:crypto"
import { broken } from "./ArchiveError.ts"

/** Bytes of content in a frame. */
export const FRAME_BYTES = 64 * 1024
export const KEY_BYTES = 32
const TAG_BYTES = 16
const HEAD_BYTES = 4 + TAG_BYTES
const LAST = 0x8000_0000

const nonceOf = (number: number): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeBigUInt64BE(BigInt(number), 4)
  return nonce
}

const contextOf = (header: Uint8Array, isLast: boolean): Buffer =>
  Buffer.concat([createHash("sha256").update(header).digest(), Buffer.from([isLast ? 1 : 0])])

const sealed = (content: Uint8Array, key: Buffer, header: Uint8Array, number: number, isLast: boolean): Buffer => {
  const cipher = createCipheriv("aes-256-gcm", key, nonceOf(number), { authTagLength: TAG_BYTES })
  cipher.setAAD(contextOf(header, isLast))
  const ciphertext = Buffer.concat([cipher.update(content), cipher.final()])
  const head = Buffer.alloc(4)
  head.writeUInt32BE(isLast ? (ciphertext.length | LAST) >>> 0 : ciphertext.length)
  return Buffer.concat([head, cipher.getAuthTag(), ciphertext])
}

const opened = (frame: Buffer, key: Buffer, header: Uint8Array, number: number, isLast: boolean): Buffer => {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(number), { authTagLength: TAG_BYTES })
    decipher.setAAD(contextOf(header, isLast))
    decipher.setAuthTag(frame.subarray(4, HEAD_BYTES))
    return Buffer.concat([decipher.update(frame.subarray(HEAD_BYTES)), decipher.final()])
  } catch {
    throw broken(`its part ${number + 1} was altered`)
  }
}

/** Seals what comes; a key is used for one archive only. */
export async function* seal(source: AsyncIterable<Uint8Array>, key: Buffer, header: Uint8Array): AsyncGenerator<Buffer> {
  let waiting: Buffer = Buffer.alloc(0)
  let number = 0
  for await (const bytes of source) {
    waiting = Buffer.concat([waiting, bytes])
    // What may be the end is kept back: the last frame is marked.
    while (waiting.length > FRAME_BYTES) {
      yield sealed(waiting.subarray(0, FRAME_BYTES), key, header, number++, false)
      waiting = waiting.subarray(FRAME_BYTES)
    }
  }
  yield sealed(waiting, key, header, number, true)
}

/** Gives the content of frames that were not altered; throws ArchiveError, also where the last frame is missing. */
export async function* open(source: AsyncIterable<Uint8Array>, key: Buffer, header: Uint8Array): AsyncGenerator<Buffer> {
  let waiting: Buffer = Buffer.alloc(0)
  let number = 0
  let isOver = false
  for await (const bytes of source) {
    waiting = waiting.length === 0 ? Buffer.from(bytes) : Buffer.concat([waiting, bytes])
    while (waiting.length >= HEAD_BYTES) {
      if (isOver) throw broken("bytes follow its end")
      const marked = waiting.readUInt32BE(0)
      const isLast = marked >= LAST
      const length = isLast ? marked - LAST : marked
      if (length > FRAME_BYTES) throw broken(`its part ${number + 1} is longer than a part can be`)
      if (waiting.length < HEAD_BYTES + length) break
      const content = opened(waiting.subarray(0, HEAD_BYTES + length), key, header, number++, isLast)
      isOver = isLast
      waiting = waiting.subarray(HEAD_BYTES + length)
      if (content.length > 0) yield content
    }
  }
  if (isOver && waiting.length > 0) throw broken("bytes follow its end")
  if (!isOver) throw broken("its end is missing")
}
