import { createHash, randomBytes } from "node:crypto"
import { assert, layer as withLayer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import * as FileId from "#src/features/files/ports/fileId.ts"

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")
const inPieces = (bytes: Buffer, size: number): Stream.Stream<Uint8Array> =>
  Stream.unfold(0, (at) => Effect.succeed(at >= bytes.length ? undefined : [bytes.subarray(at, at + size), at + size] as const)).pipe(Stream.rechunk(1))
const collected = <E>(stream: Stream.Stream<Uint8Array, E>) => Effect.map(Stream.runCollect(stream), (chunks) => Buffer.concat(Array.from(chunks)))

/** `remains`: what a failed write has left that no list shows. */
export const suite = (name: string, layer: Layer.Layer<FileStore>, remains: () => ReadonlyArray<string>): void => {
  withLayer(layer, { excludeTestServices: true })(`FileStore on ${name}`, (it) => {
    const ids = Effect.flatMap(FileStore, ({ list }) => Effect.map(Stream.runCollect(list), (all) => Array.from(all, ({ id }) => id)))

    it.effect("bytes come back as they were written, whole and in ranges, until they are removed", () => Effect.gen(function*() {
      const store = yield* FileStore
      for (const size of [0, 1, 300_000, 11 * 1024 * 1024 + 7]) {
        const id = FileId.make("0123abcd")
        const bytes = randomBytes(size)
        assert.deepStrictEqual(yield* store.write(id, inPieces(bytes, 100_001)), { bytes: size, sha256: sha256(bytes) })
        assert.strictEqual(sha256(yield* collected(store.read(id))), sha256(bytes))
        if (size > 1_000) {
          for (const [first, last] of [[0, 1], [5, 5], [6, 600], [size - 10, size - 1], [100_000, size - 1]] as const) {
            assert.isTrue((yield* collected(store.read(id, { first, last }))).equals(bytes.subarray(first, last + 1)), `${size}: ${first}-${last}`)
          }
        }
        assert.include(yield* ids, id)
        yield* store.remove(id)
        assert.strictEqual((yield* Effect.flip(collected(store.read(id)))).reason, "missing")
        assert.notInclude(yield* ids, id)
        yield* store.remove(id)
      }
      assert.deepStrictEqual(remains(), [])
    }), 180_000)

    it.effect("nothing can be read of a file before all of it is written", () => Effect.gen(function*() {
      const store = yield* FileStore
      const id = FileId.make("0123abcd")
      const half = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const content = Stream.concat(inPieces(randomBytes(6 * 1024 * 1024), 1_000_000), Stream.fromEffect(Effect.gen(function*() {
        yield* Deferred.succeed(half, undefined)
        yield* Deferred.await(gate)
        return Buffer.from("end")
      })))
      const writing = yield* Effect.forkChild(store.write(id, content))
      yield* Deferred.await(half)
      assert.strictEqual((yield* Effect.flip(collected(store.read(id)))).reason, "missing")
      assert.notInclude(yield* ids, id)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Fiber.join(writing)).bytes, 6 * 1024 * 1024 + 3)
      assert.include(yield* ids, id)
      yield* store.remove(id)
    }))

    it.effect("a write that fails or is interrupted leaves nothing, short or long", () => Effect.gen(function*() {
      const store = yield* FileStore
      for (const size of [10, 6 * 1024 * 1024]) {
        const failing = FileId.make("0123abcd")
        const begun = inPieces(randomBytes(size), 1_000_000)
        assert.strictEqual(yield* Effect.flip(store.write(failing, Stream.concat(begun, Stream.fail("gone" as const)))), "gone")
        const cut = FileId.make("0123abcd")
        const reached = yield* Deferred.make<void>()
        const writing = yield* Effect.forkChild(store.write(cut, Stream.concat(begun, Stream.fromEffect(Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)))))
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(writing)
        for (const id of [failing, cut]) {
          assert.strictEqual((yield* Effect.flip(collected(store.read(id)))).reason, "missing")
          assert.notInclude(yield* ids, id)
        }
      }
      assert.deepStrictEqual(remains(), [])
    }))

    it.effect("a reader that stops early costs no more than it took", () => Effect.gen(function*() {
      const store = yield* FileStore
      const id = FileId.make("0123abcd")
      const bytes = randomBytes(3 * 1024 * 1024)
      yield* store.write(id, inPieces(bytes, 1_000_000))
      const [first] = yield* Stream.runCollect(Stream.take(store.read(id), 1))
      assert.isDefined(first)
      assert.isTrue(bytes.subarray(0, first?.byteLength ?? 0).equals(first ?? Buffer.alloc(0)))
      assert.isBelow(first?.byteLength ?? Infinity, bytes.byteLength)
      yield* store.remove(id)
    }))
  })
}
