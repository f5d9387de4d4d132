/**
 * How long a sound is, as the header of its file says: WAV (RIFF) and MP3 (ISO 11172-3, with the frame count of its Xing or Info tag). It
 * is read while the file passes: what is looked at next lies always behind what was looked at. Pure.
 */
import type { Meter } from "#src/wire/form/Form.ts"

/** Longest sound that is believed, s: a day. */
const mostSeconds = 86_400

/** Seconds of a file of `total` bytes; null when it does not say. */
type Answer = (total: number) => number | null

/** A place of the file that is looked at next; at its end there may be fewer bytes. */
interface Look {
  readonly at: number
  readonly length: number
  readonly then: (bytes: Buffer) => Look | Answer
}

const unknown: Answer = () => null

const isAnswer = (next: Look | Answer): next is Answer => typeof next === "function"

/** Bytes of the smallest WAV file. */
const begin = 44

const beginning: Look = {
  at: 0,
  length: begin,
  then: (bytes) => bytes.length === begin && bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WAVE" ? chunkAt(12, 0, 0) : framesFrom(tagLength(bytes))
}

/** Chunks before the samples; more are of no sound. */
const mostChunks = 64

const chunkAt = (at: number, rate: number, chunks: number): Look => ({
  at,
  length: 20,
  then: (bytes) => {
    if (bytes.length < 8 || chunks >= mostChunks) return unknown
    const name = bytes.toString("latin1", 0, 4)
    const size = bytes.readUInt32LE(4)
    if (name === "data") {
      // A recorder that did not know the end says 0, or more than there is.
      return (total) => rate === 0 ? null : (size === 0 ? total - at - 8 : Math.min(size, total - at - 8)) / rate
    }
    return chunkAt(at + 8 + size + size % 2, name === "fmt " && bytes.length === 20 ? bytes.readUInt32LE(16) : rate, chunks + 1)
  }
})

/** kbit/s by the index of the frame's header: version 1, then 2 and 2.5; of layer III. */
const rates: ReadonlyArray<ReadonlyArray<number>> = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320], [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
]
/** Samples per second of version 1; half of it in version 2, a quarter in 2.5. */
const frequencies: ReadonlyArray<number> = [44_100, 48_000, 32_000]

/** Bytes before the first frame. */
const mostPadding = 4_096
/** Bytes of a frame up to the end of the count in its tag, at most. */
const frameHead = 48

/** The tag before the sound: its size has seven bits a byte. */
const tagLength = (sound: Buffer): number =>
  sound.length < 10 || sound.toString("latin1", 0, 3) !== "ID3"
    ? 0
    : 10 + (((sound[6] as number) & 0x7f) << 21 | ((sound[7] as number) & 0x7f) << 14 | ((sound[8] as number) & 0x7f) << 7 | ((sound[9] as number) & 0x7f))

const framesFrom = (from: number): Look => ({ at: from, length: mostPadding + frameHead, then: (bytes) => frameIn(bytes, from) })

const frameIn = (bytes: Buffer, from: number): Answer => {
  for (let at = 0; at + 4 <= bytes.length && at < mostPadding; at++) {
    const second = bytes[at + 1] as number
    // Eleven bits that are set, then layer III.
    if (bytes[at] !== 0xff || (second & 0xe0) !== 0xe0 || (second & 0x06) !== 0x02) continue
    const version = (second >> 3) & 3
    const third = bytes[at + 2] as number
    const kbits = rates[version === 3 ? 0 : 1]?.[third >> 4]
    const frequency = frequencies[(third >> 2) & 3]
    if (version === 1 || kbits === undefined || kbits === 0 || frequency === undefined) continue
    const perSecond = version === 3 ? frequency : version === 2 ? frequency / 2 : frequency / 4
    const frames = framesIn(bytes, at, version === 3, ((bytes[at + 3] as number) >> 6) === 3)
    return frames === null ? (total) => (total - from - at) * 8 / (kbits * 1_000) : () => frames * (version === 3 ? 1_152 : 576) / perSecond
  }
  return unknown
}

/** Frames of a file with a changing rate, where its tag counts them. */
const framesIn = (sound: Buffer, frame: number, isFirst: boolean, isMono: boolean): number | null => {
  const at = frame + 4 + (isFirst ? isMono ? 17 : 32 : isMono ? 9 : 17)
  if (at + 12 > sound.length) return null
  const name = sound.toString("latin1", at, at + 4)
  return (name === "Xing" || name === "Info") && (sound.readUInt32BE(at + 4) & 1) === 1 ? sound.readUInt32BE(at + 8) : null
}

/** Reads the seconds of one file. */
export class SoundLength implements Meter {
  #next: Look | Answer = beginning
  #total = 0
  /** The bytes from the place on that is looked at, as far as they came. */
  #kept: Buffer = Buffer.alloc(0)

  push(bytes: Uint8Array): void {
    const start = this.#total
    this.#total += bytes.byteLength
    for (;;) {
      const look = this.#next
      if (isAnswer(look)) return
      const from = look.at + this.#kept.length
      if (from < this.#total) this.#kept = Buffer.concat([this.#kept, bytes.subarray(from - start, look.at + look.length - start)])
      if (this.#kept.length < look.length) return
      this.#take(look)
    }
  }

  /** The next place may lie in what is kept of this one. */
  #take(look: Look): void {
    const next = this.#next = look.then(this.#kept.subarray(0, look.length))
    this.#kept = this.#kept.subarray(isAnswer(next) ? this.#kept.length : next.at - look.at)
  }

  result(): number | null {
    for (;;) {
      const look = this.#next
      if (!isAnswer(look)) {
        this.#take(look)
        continue
      }
      const seconds = look(this.#total)
      return seconds !== null && Number.isFinite(seconds) && seconds > 0 && seconds <= mostSeconds ? seconds : null
    }
  }
}

/** Seconds of a file that is in memory; null for another format, or a header that says nothing. */
export const secondsOf = (sound: Uint8Array): number | null => {
  const meter = new SoundLength()
  meter.push(sound)
  return meter.result()
}
