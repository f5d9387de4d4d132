/** What the reader of a body does with more than a socket should bring at once. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, it } from "vitest"
import { BodyReader, OVERFLOW_BYTES, READ_AHEAD_BYTES } from "#src/platform/server/body/BodyReader.ts"
import type { BodyFailure } from "#src/platform/server/Exchange.ts"
import { Arrivals } from "#src/platform/server/uws/Arrivals.ts"
import type { NativeResponse } from "#src/platform/server/uws/native.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import { openFiles } from "#test/support/openFiles.ts"

const KB = 1024
const MB = 1024 * KB

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "overflow-"))
afterAll(() => fs.rmSync(directory, { recursive: true }))

const open = (): number => openFiles(directory)

/** A reader that is pulled, and the socket it reads. */
const begin = ({ most = Infinity, place = directory, reserveBytes = 0 }: { readonly most?: number; readonly place?: string | null; readonly reserveBytes?: number } = {}) => {
  const calls: Array<string> = []
  let give: (chunk: ArrayBuffer, isLast: boolean) => void = () => undefined
  const heldBytes = new HeldBytes(Infinity)
  const stored = new HeldBytes(most)
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
    heldBytes,
    overflow: { directory: place, reserveBytes, stored }
  })
  const pulled: Array<Uint8Array | null> = []
  const failures: Array<BodyFailure> = []
  return {
    calls,
    /** `fill`: each of its bytes. */
    come: (bytes: number, fill: number, isLast = false) => give(new Uint8Array(bytes).fill(fill).buffer, isLast),
    heldBytes,
    failures,
    fail: () => reader.fail("aborted"),
    pull: () => reader.pull((bytes, failure) => {
      if (failure === null) pulled.push(bytes)
      else failures.push(failure)
    }),
    pulled,
    stored
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

/** Sends so many megabytes in one turn; each byte of one is its number. */
const flood = ({ come, pull }: ReturnType<typeof begin>, megabytes: number): void => {
  come(1, 0)
  pull()
  for (let n = 0; n < 2 * megabytes; n++) come(512 * KB, Math.floor(n / 2))
}

/** What was pulled, in its order. */
const bytesOf = (pulled: ReadonlyArray<Uint8Array | null>): Buffer => Buffer.concat(pulled.filter((bytes) => bytes !== null))

const whole = (megabytes: number): Buffer => Buffer.concat([Buffer.from([0]), ...Array.from({ length: megabytes }, (_, n) => Buffer.alloc(MB, n)), Buffer.from([99])])

it("keeps a bounded part of a flood in memory, and the rest in a file without a name, which goes with its last byte", () => {
  const body = begin()
  flood(body, 40)
  expect([body.heldBytes.bytes, body.stored.bytes, open(), fs.readdirSync(directory)]).toEqual([OVERFLOW_BYTES, 24 * MB, 1, []])
  // A body that goes on while its consumer catches up stays in its order.
  for (let n = 0; n < 30; n++) body.pull()
  body.come(1, 99, true)
  while (body.pulled.at(-1) !== null) body.pull()
  expect(bytesOf(body.pulled).equals(whole(40))).toBe(true)
  expect([body.heldBytes.bytes, body.stored.bytes, open()]).toEqual([0, 0, 0])
})

it("closes the file of a body whose client left", () => {
  const body = begin()
  flood(body, 20)
  expect(open()).toBe(1)
  body.fail()
  expect([body.heldBytes.bytes, body.stored.bytes, open()]).toEqual([0, 0, 0])
})

it("refuses what has room neither in memory nor in files", () => {
  const body = begin({ most: 2 * MB })
  flood(body, 20)
  body.pull()
  expect([body.failures, body.heldBytes.bytes, body.stored.bytes, open()]).toEqual([["no-room"], 0, 0, 0])
})

it("keeps a flood in memory where no file can be made, or its disk is nearly full", () => {
  for (const nowhere of [{ place: null }, { place: path.join(directory, "missing") }, { reserveBytes: Infinity }]) {
    const body = begin(nowhere)
    flood(body, 20)
    expect([body.heldBytes.bytes, open()]).toEqual([20 * MB, 0])
    body.come(1, 99, true)
    while (body.pulled.at(-1) !== null) body.pull()
    expect(bytesOf(body.pulled).equals(whole(20))).toBe(true)
  }
})
