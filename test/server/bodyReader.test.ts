/** What the reader of a body does with more than a socket should bring at once. */
import { expect, it } from "vitest"
import { BodyReader, READ_AHEAD_BYTES } from "#src/platform/server/body/BodyReader.ts"
import { Arrivals } from "#src/platform/server/uws/Arrivals.ts"
import type { NativeResponse } from "#src/platform/server/uws/native.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"

const KB = 1024

/** A reader that is pulled, and the socket it reads. */
const begin = () => {
  const calls: Array<string> = []
  let give: (chunk: ArrayBuffer, isLast: boolean) => void = () => undefined
  const heldBytes = new HeldBytes(Infinity)
  const response: Partial<NativeResponse> = {
    onData: (handler) => void (give = handler),
    pause: () => calls.push("pause"),
    resume: () => calls.push("resume")
  }
  const reader = new BodyReader(response as NativeResponse, -1, {
    arrivals: new Arrivals(),
    bodyAhead: (ahead) => ahead.pause(),
    bodyPartial: () => undefined,
    bodyRearms: () => undefined,
    defect: (error) => {
      throw error
    },
    heldBytes
  })
  const pulled: Array<Uint8Array | null> = []
  return {
    calls,
    /** `fill`: each of its bytes. */
    come: (bytes: number, fill: number, isLast = false) => give(new Uint8Array(bytes).fill(fill).buffer, isLast),
    heldBytes,
    pull: () => reader.pull((bytes) => pulled.push(bytes)),
    pulled
  }
}

it("hands over what a fast client sent piece by piece, counts down, and reads on when little is left", () => {
  const { calls, come, heldBytes, pull, pulled } = begin()
  come(512 * KB, 1)
  for (let n = 2; n <= 4; n++) come(512 * KB, n)
  expect([calls, heldBytes.bytes]).toEqual([["pause"], 4 * 512 * KB])
  for (let n = 1; n <= 4; n++) {
    pull()
    expect([pulled[n - 1]?.byteLength, pulled[n - 1]?.[0], heldBytes.bytes]).toEqual([512 * KB, n, (4 - n) * 512 * KB])
    expect(calls).toEqual(n < 4 ? ["pause"] : ["pause", "resume"])
  }
  come(10, 5, true)
  pull()
  pull()
  expect([pulled[4]?.byteLength, pulled[5], heldBytes.bytes]).toEqual([10, null, 0])
})

it("joins small pieces, as many as a reader may be ahead", () => {
  const { come, pull, pulled } = begin()
  for (let n = 0; n < 1_000; n++) come(KB, n % 256, n === 999)
  do pull()
  while (pulled.at(-1) !== null)
  const pieces = pulled.slice(0, -1).map((piece) => piece ?? new Uint8Array())
  expect(pieces.map(({ byteLength }) => byteLength)).toEqual([READ_AHEAD_BYTES, READ_AHEAD_BYTES, READ_AHEAD_BYTES, 1_000 * KB - 3 * READ_AHEAD_BYTES])
  expect(Buffer.concat(pieces).equals(Buffer.concat(Array.from({ length: 1_000 }, (_, n) => Buffer.alloc(KB, n % 256))))).toBe(true)
})
