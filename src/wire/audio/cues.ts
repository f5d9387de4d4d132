/** Subtitles: SubRip (srt) and WebVTT (vtt). Pure. */

/** A word with its place in the sound, s. */
export interface Word {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** Characters at the end of a document that hold its last cue. */
const tail = 64 * 1024

const line = /-->[ \t]*(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})/g

/** Where the last cue ends, s; null without a cue. */
export const endOf = (text: string): number | null => {
  let end: number | null = null
  for (const [, hours = "0", minutes = "0", seconds = "0", part = "0"] of text.slice(-tail).matchAll(line)) {
    end = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds) + Number(`0.${part}`)
  }
  return end
}

/** Words and seconds of one cue. */
const mostWords = 10
const mostSeconds = 6

const cuesOf = (words: ReadonlyArray<Word>): ReadonlyArray<ReadonlyArray<Word>> => {
  const cues: Array<Array<Word>> = []
  for (const word of words) {
    const cue = cues.at(-1)
    const first = cue?.[0]
    if (cue === undefined || first === undefined || cue.length >= mostWords || word.end - first.start > mostSeconds) cues.push([word])
    else cue.push(word)
  }
  return cues
}

const two = (value: number): string => String(value).padStart(2, "0")

const stamp = (seconds: number, mark: string): string => {
  const ms = Math.round(seconds * 1_000)
  const whole = Math.floor(ms / 1_000)
  return `${two(Math.floor(whole / 3_600))}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}${mark}${String(ms % 1_000).padStart(3, "0")}`
}

/** A part of the text with its place in the sound, s. */
export const segmentsOf = (words: ReadonlyArray<Word>): ReadonlyArray<Word> =>
  cuesOf(words).map((cue) => ({ text: cue.map(({ text }) => text.trim()).join(" "), start: cue[0]?.start ?? 0, end: cue.at(-1)?.end ?? 0 }))

/** The words as subtitles. */
export const write = (format: "srt" | "vtt", words: ReadonlyArray<Word>): string => {
  const mark = format === "srt" ? "," : "."
  const cues = segmentsOf(words).map(({ end, start, text }, i) =>
    `${format === "srt" ? `${i + 1}\n` : ""}${stamp(start, mark)} --> ${stamp(end, mark)}\n${text}\n\n`)
  return (format === "srt" ? "" : "WEBVTT\n\n") + cues.join("")
}
