/**
 * Fetches a public list of models: through the URL guard and the Upstream port, within a deadline and a size, and without redirects. Errors
 * name the host, never the whole URL, which may hold a token.
 */
import * as Effect from "effect/Effect"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"

/** Bytes of a list. */
export const LIST_MAX = 32 * 1024 * 1024
const timeouts = { connect: 10_000, headers: 20_000, firstEvent: 0, idle: 20_000, total: 60_000 }
const headers = ["accept", "application/json", "accept-encoding", "identity", "user-agent", "gateway"]

const collected = (chunks: ReadonlyArray<Uint8Array>, size: number): Uint8Array => {
  const bytes = new Uint8Array(new SharedArrayBuffer(size))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

/** The bytes at a URL, in memory that threads share; a failure is a clause that says why there are none. */
export const make = Effect.gen(function*() {
  const guard = yield* UrlGuard
  const calls = yield* ControlCalls.make

  const get = (url: URL) => Effect.callback<Uint8Array, string>((resume) => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    let over = false
    const fail = (why: string): void => {
      over = true
      chunks.length = 0
      resume(Effect.fail(why))
    }
    // It serves no provider: only the proxy of everything is asked.
    const call = calls.dispatch({ connection: null, provider: "" }, { origin: url.origin, path: url.pathname + url.search, method: "GET", headers, body: null, timeouts }, {
      onHead: (status) => {
        if (StatusReason.isOk(status)) return
        call.abort()
        fail(`${url.host} answered with status ${status}${StatusReason.of(status) === "redirect" ? "; redirects are not followed" : ""}`)
      },
      onData: (chunk) => {
        if (over) return
        size += chunk.byteLength
        call.useful()
        if (size <= LIST_MAX) {
          // A copy: `slice` of a Buffer is the same, borrowed memory.
          chunks.push(Buffer.from(chunk))
          return
        }
        call.abort()
        fail(`the list of ${url.host} is larger than ${LIST_MAX} bytes`)
      },
      onEnd: () => {
        if (!over) resume(Effect.succeed(collected(chunks, size)))
      },
      onFailure: ({ message }) => {
        if (!over) fail(message)
      }
    })
    return Effect.sync(() => call.abort())
  })

  return (url: string): Effect.Effect<Uint8Array, string> => Effect.andThen(
    Effect.mapError(guard.check(url, "provider"), ({ message }) => message),
    Effect.suspend(() => get(new URL(url)))
  )
})
