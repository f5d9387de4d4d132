import { describe, expect, it } from "vitest"
import { toneOf } from "#src/simulator/formats/audio.ts"
import * as Cues from "#src/wire/audio/cues.ts"
import { secondsOf, SoundLength } from "#src/wire/audio/soundLength.ts"
import { cpuMs } from "#test/support/late.ts"

const tone = toneOf("x".repeat(50))
const patched = (at: number, value: number): Buffer => {
  const copy = Buffer.from(tone)
  copy.writeUInt32LE(value, at)
  return copy
}

const chunk = (name: string, bytes: Buffer): Buffer => Buffer.concat([Buffer.from(name), Buffer.from(Uint32Array.of(bytes.length).buffer), bytes, Buffer.alloc(bytes.length % 2)])
const chunky = Buffer.concat([tone.subarray(0, 12), chunk("LIST", Buffer.alloc(5_001)), tone.subarray(12, 36), chunk("cue ", Buffer.alloc(4)), tone.subarray(36)])

/** MPEG 1, layer III, 128 kbit/s, 44.1 kHz: frames of 417 bytes. */
const frame = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(413)])
const plain = Buffer.concat(Array.from({ length: 100 }, () => frame))
const tag = Buffer.concat([Buffer.from("ID3\x04\0\0\0\0\x02\0", "latin1"), Buffer.alloc(256)])
const counted = (): Buffer => {
  const first = Buffer.from(frame)
  first.write("Xing", 36, "latin1")
  first.writeUInt32BE(1, 40)
  first.writeUInt32BE(1_000, 44)
  return Buffer.concat([first, frame])
}

describe("the length of a sound", () => {
  it.each([
    ["a WAV file", tone, 1], ["one whose recorder did not know the end", patched(40, 0), 1], ["one that claims more than there is", patched(40, 0xffffffff), 1], ["one with chunks before its samples", chunky, 1],
    ["an MP3 file", plain, 41_700 * 8 / 128_000], ["one with a tag before it", Buffer.concat([tag, plain]), 41_700 * 8 / 128_000], ["one whose tag counts its frames", counted(), 1_000 * 1_152 / 44_100]
  ])("is read of %s", (_name, sound, seconds) => {
    expect(secondsOf(sound)).toBeCloseTo(seconds, 6)
    for (const size of [1, 7, 43, 44, 45, 300, 4_000]) {
      const meter = new SoundLength()
      for (let at = 0; at < sound.length; at += size) meter.push(sound.subarray(at, at + size))
      expect([size, meter.result()]).toEqual([size, secondsOf(sound)])
    }
  })

  it.each([
    ["nothing", Buffer.alloc(0)], ["text", Buffer.from("hello there, this is no sound at all, not even a little one")], ["a rate of nothing", patched(28, 0)], ["a head alone", tone.subarray(0, 44)], ["half a head", tone.subarray(0, 30)],
    ["another container", Buffer.concat([Buffer.from("OggS"), Buffer.alloc(100)])], ["a bad frame", Buffer.from([0xff, 0xfb, 0xf0, 0x00, 0, 0, 0, 0])]
  ])("is not known of %s", (_name, sound) => {
    expect(secondsOf(sound)).toBeNull()
  })

  it("is looked for in bounded time, whatever the bytes are", () => {
    const hostile = [Buffer.alloc(20_000_000, 0xff), Buffer.concat([tone.subarray(0, 12), Buffer.alloc(20_000_000)]), Buffer.alloc(20_000_000, "ID3")]
    expect(cpuMs(() => hostile.forEach(secondsOf))).toBeLessThan(200)
  })
})

describe("subtitles", () => {
  it("end where their last cue does", () => {
    expect(Cues.endOf("1\n00:00:00,000 --> 00:00:02,500\nHi\n\n2\n00:00:02,500 --> 01:02:03,250\nBye\n\n")).toBe(3_723.25)
    expect(Cues.endOf("WEBVTT\n\n00:01.000 --> 00:04.5\nHi\n")).toBe(4.5)
    expect([Cues.endOf(""), Cues.endOf("no cue --> here")]).toEqual([null, null])
  })

  it("are written of words, and read back", () => {
    const words = Array.from({ length: 25 }, (_, i) => ({ text: `w${i}`, start: i, end: i + 0.5 }))
    expect(Cues.write("srt", words.slice(0, 2))).toBe("1\n00:00:00,000 --> 00:00:01,500\nw0 w1\n\n")
    expect(Cues.write("vtt", words.slice(0, 1))).toBe("WEBVTT\n\n00:00:00.000 --> 00:00:00.500\nw0\n\n")
    for (const format of ["srt", "vtt"] as const) expect(Cues.endOf(Cues.write(format, words))).toBe(24.5)
  })
})
