/** How long a sound is, as the header of its file says: WAV (RIFF) and MP3 (ISO 11172-3, with the frame count of its Xing or Info tag). Pure. */

/** Longest sound that is believed, s: a day. */
const mostSeconds = 86_400

/** Seconds; null for another format, or a header that says nothing. */
export const secondsOf = (sound: Buffer): number | null => {
  const seconds = wavSeconds(sound) ?? mp3Seconds(sound)
  return seconds !== null && Number.isFinite(seconds) && seconds > 0 && seconds <= mostSeconds ? seconds : null
}

/** Chunks before the samples; more are of no sound. */
const mostChunks = 64

const wavSeconds = (sound: Buffer): number | null => {
  if (sound.length < 44 || sound.toString("latin1", 0, 4) !== "RIFF" || sound.toString("latin1", 8, 12) !== "WAVE") return null
  let rate = 0
  for (let at = 12, chunks = 0; at + 8 <= sound.length && chunks < mostChunks; chunks++) {
    const name = sound.toString("latin1", at, at + 4)
    const size = sound.readUInt32LE(at + 4)
    if (name === "fmt " && at + 20 <= sound.length) rate = sound.readUInt32LE(at + 16)
    if (name === "data") {
      const left = sound.length - at - 8
      // A recorder that did not know the end says 0, or more than there is.
      return rate === 0 ? null : (size === 0 ? left : Math.min(size, left)) / rate
    }
    at += 8 + size + size % 2
  }
  return null
}

/** kbit/s by the index of the frame's header: version 1, then 2 and 2.5; of layer III. */
const rates: ReadonlyArray<ReadonlyArray<number>> = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320], [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
]
/** Samples per second of version 1; half of it in version 2, a quarter in 2.5. */
const frequencies: ReadonlyArray<number> = [44_100, 48_000, 32_000]

/** Bytes before the first frame. */
const mostPadding = 4_096

/** The tag before the sound: its size has seven bits a byte. */
const tagLength = (sound: Buffer): number =>
  sound.length < 10 || sound.toString("latin1", 0, 3) !== "ID3"
    ? 0
    : 10 + (((sound[6] as number) & 0x7f) << 21 | ((sound[7] as number) & 0x7f) << 14 | ((sound[8] as number) & 0x7f) << 7 | ((sound[9] as number) & 0x7f))

const mp3Seconds = (sound: Buffer): number | null => {
  const from = tagLength(sound)
  for (let at = from; at + 4 <= sound.length && at < from + mostPadding; at++) {
    const second = sound[at + 1] as number
    // Eleven bits that are set, then layer III.
    if (sound[at] !== 0xff || (second & 0xe0) !== 0xe0 || (second & 0x06) !== 0x02) continue
    const version = (second >> 3) & 3
    const third = sound[at + 2] as number
    const kbits = rates[version === 3 ? 0 : 1]?.[third >> 4]
    const frequency = frequencies[(third >> 2) & 3]
    if (version === 1 || kbits === undefined || kbits === 0 || frequency === undefined) continue
    const perSecond = version === 3 ? frequency : version === 2 ? frequency / 2 : frequency / 4
    const frames = framesIn(sound, at, version === 3, ((sound[at + 3] as number) >> 6) === 3)
    return frames === null ? (sound.length - at) * 8 / (kbits * 1_000) : frames * (version === 3 ? 1_152 : 576) / perSecond
  }
  return null
}

/** Frames of a file with a changing rate, where its tag counts them. */
const framesIn = (sound: Buffer, frame: number, isFirst: boolean, isMono: boolean): number | null => {
  const at = frame + 4 + (isFirst ? isMono ? 17 : 32 : isMono ? 9 : 17)
  if (at + 12 > sound.length) return null
  const name = sound.toString("latin1", at, at + 4)
  return (name === "Xing" || name === "Info") && (sound.readUInt32BE(at + 4) & 1) === 1 ? sound.readUInt32BE(at + 8) : null
}
