/** An event stream with comments while it is silent, so that nothing between client and gateway cuts it. */
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Frames from "./frames.ts"

export interface Beats {
  /** A stream that was silent for so long gets a comment, ms; 0 = none. */
  readonly everyMs: number
}

const comment = ": heartbeat\n\n"

/** `left`: called when the stream is over, or its client has gone. */
export const response = (events: AsyncIterator<string>, { everyMs }: Beats, left: () => void = () => {}): HttpServerResponse.HttpServerResponse => {
  let waiting: Promise<IteratorResult<string>> | null = null
  const next = Effect.promise(() => waiting ??= events.next())
  const step = Effect.map(everyMs === 0 ? next : Effect.raceFirst(next, Effect.as(Effect.sleep(everyMs), null)), (result) => {
    if (result === null) return [[comment], Option.some(null)] as const
    waiting = null
    return result.done === true ? [[], Option.none<null>()] as const : [[result.value], Option.some(null)] as const
  })
  const over = Effect.sync(() => {
    left()
    // A generator that waits hears of it with its next event, which is not waited for.
    events.return?.().catch(() => {})
  })
  return HttpServerResponse.stream(Stream.encodeText(Stream.ensuring(Stream.paginate<null, string>(null, () => step), over)), Frames.sse)
}
