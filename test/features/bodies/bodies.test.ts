/** What is kept of a body, what is searched in it, and how long it stays. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { Pieces, type Stored } from "#actors/request/ports/Body.ts"
import { BodyStore } from "#src/features/bodies/ports/BodyStore.ts"
import * as CallBodies from "#src/features/bodies/CallBodies.ts"
import { Kept } from "#src/features/bodies/Kept.ts"
import * as Record from "#src/features/bodies/record.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import * as Management from "#test/support/management.ts"

const HOUR = "1 hour"

describe("a kept body", () => {
  it("copies borrowed bytes up to its size, at whole characters, and gives its room back", () => {
    const room = new HeldBytes(100)
    const kept = new Kept(5, room)
    const borrowed = Buffer.from("abcé")
    kept.push(borrowed)
    borrowed.fill(0)
    kept.push(Buffer.from("efgh"))
    assert.deepStrictEqual([kept.text, kept.bytes, kept.isCut, room.bytes], ["abcé", 9, true, 5])
    kept.release()
    assert.strictEqual(room.bytes, 0)
    const divided = new Kept(4, room)
    divided.push(Buffer.from("abcé"))
    assert.deepStrictEqual([divided.text, divided.isCut], ["abc", true])
  })

  it("is cut where there is no room, and is no text where its bytes are none", () => {
    const kept = new Kept(50, new HeldBytes(3))
    kept.push(Buffer.from("abc"))
    kept.push(Buffer.from("d"))
    assert.deepStrictEqual([kept.text, kept.bytes, kept.isCut], ["abc", 4, true])
    const binary = new Kept(50, new HeldBytes(99))
    binary.push(Uint8Array.of(0xff, 0xd8, 0xff))
    assert.deepStrictEqual([binary.text, binary.bytes, binary.isCut], [null, 3, false])
  })

  it("counts pieces that are not in memory, and copies none behind them", () => {
    const stored: Stored = { length: 7, read: () => {}, hold: () => null }
    const kept = new Kept(50, new HeldBytes(99))
    kept.pushBody(new Pieces([Buffer.from("head"), stored, Buffer.from("tail")]))
    assert.deepStrictEqual([kept.text, kept.bytes, kept.isCut], ["head", 15, true])
  })
})

it("pieces are divided where no credential stands", () => {
  const secret = `Bearer ${"s3cret".repeat(4)}`
  for (let at = 0; at < 40; at++) {
    const text = `${"x".repeat(4_096 - 40 + at)} ${secret} ${"word ".repeat(9_000)}`
    const pieces = Record.piecesOf(text)
    assert.strictEqual(pieces.join(""), text)
    assert.isTrue(pieces.some((piece) => piece.includes(secret)), String(at))
  }
})

describe("kept bodies", () => {
  it.effect("stay for their hours, and a shorter time acts on those that are there", () => Effect.gen(function*() {
    const surface = yield* Management.make({ settings: { callLogBodies: true, callLogBodyHours: 2 } })
    const store = Context.get(surface.context, BodyStore)
    const bodies = Context.get(surface.context, CallBodies.CallBodies)
    const cookie = yield* surface.login()
    yield* Layer.build(CallBodies.sweep.pipe(Layer.provide(Layer.merge(LocalPlacement.layer, Layer.succeed(CallBodies.CallBodies, bodies)))))
    const ids = Effect.map(store.find(["old", "new"], 0), (found) => found.map(({ id }) => id))
    const now = 10 * 3_600_000
    yield* TestClock.setTime(now)
    yield* store.put([{ id: "old", createdAt: now, sealed: "x" }])
    yield* TestClock.adjust(HOUR)
    yield* store.put([{ id: "new", createdAt: now + 3_600_000, sealed: "x" }])
    yield* TestClock.adjust("30 minutes")
    assert.deepStrictEqual(yield* ids, ["new", "old"])
    yield* TestClock.adjust("31 minutes")
    assert.deepStrictEqual(yield* ids, ["new"])
    yield* surface.ask("/api/settings", { method: "PATCH", cookie, body: { callLogBodyHours: 1 } })
    assert.isNull(yield* bodies.find(["new"], "new"))
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(yield* ids, [])
  }))

  it.effect("are switched on by those alone who may do everything", () => Effect.gen(function*() {
    const surface = yield* Management.make()
    const cookie = yield* surface.login()
    const made = yield* surface.ask("/api/keys", { method: "POST", cookie, body: { name: "manager", scopes: ["manage"] } })
    const bearer = (made.json as { key: string }).key
    const change = (credential: { readonly cookie: string } | { readonly bearer: string }) => surface.ask("/api/settings", { method: "PATCH", body: { callLogBodies: true }, ...credential })
    assert.deepStrictEqual([(yield* change({ bearer })).status, (yield* change({ cookie })).status], [403, 200])
    for (const body of [{ callLogBodyShare: 1.1 }, { callLogBodyMaxKb: 0 }, { callLogBodyHours: 0 }, { callLogBodies: "yes" }]) {
      assert.strictEqual((yield* surface.ask("/api/settings", { method: "PATCH", cookie, body })).status, 400)
    }
  }))
})
