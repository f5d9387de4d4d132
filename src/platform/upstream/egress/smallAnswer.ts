/** The answers of calls that serve no request: read whole, as text, up to a size. */
import * as Effect from "effect/Effect"
import type { UpstreamCall, UpstreamFailure, UpstreamHandler } from "#actors/request/ports/Upstream.ts"

export interface SmallAnswer {
  readonly status: number
  readonly body: string
}

/** What the caller says of an answer that did not come. */
export interface Otherwise<E> {
  readonly failed: (failure: UpstreamFailure) => E
  readonly tooLarge: () => E
}

/** `most`: bytes. `dispatch` makes the call; interruption, and a longer answer, abort it. */
export const read = <E>(most: number, dispatch: (handler: UpstreamHandler) => UpstreamCall, { failed, tooLarge }: Otherwise<E>): Effect.Effect<SmallAnswer, E> =>
  Effect.callback((resume) => {
    const decoder = new TextDecoder()
    let status = 0
    let size = 0
    let body = ""
    const call = dispatch({
      onHead: (code) => {
        status = code
      },
      onData: (chunk) => {
        size += chunk.byteLength
        if (size <= most) {
          body += decoder.decode(chunk, { stream: true })
          call.useful()
          return
        }
        call.abort()
        resume(Effect.fail(tooLarge()))
      },
      onEnd: () => resume(Effect.succeed({ status, body: body + decoder.decode() })),
      onFailure: (failure) => resume(Effect.fail(failed(failure)))
    })
    return Effect.sync(() => call.abort())
  })
