/** Media that a request without a conversation names by URL: checked, and fetched where the gateway sends them inline. */
import * as Effect from "effect/Effect"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import { MediaFetch, type MediaRefused } from "#src/platform/media/MediaFetch.ts"
import type { FetchedMedium, MediaWish, RemoteMedium } from "#src/wire/oneShot/OneShotCodec.ts"

/** Fetches of one request at once. */
const concurrency = 4

const errorOf = ({ at }: RemoteMedium) => ({ message }: MediaRefused): PublicError =>
  Errors.make("bad_request", `What '${at}' names was not fetched: ${message}.`, { extra: { param: at } })

/** Each medium that is to be sent inline, or why one may not be sent. */
export const collect = (media: MediaFetch["Service"], { remote, room: bytes, maxBytes }: MediaWish): Effect.Effect<ReadonlyArray<FetchedMedium> | PublicError> => {
  const room = { left: bytes }
  const one = (medium: RemoteMedium): Effect.Effect<ReadonlyArray<FetchedMedium>, PublicError> => {
    const { types, url } = medium
    const said: Effect.Effect<ReadonlyArray<FetchedMedium>, MediaRefused> = types === null
      ? Effect.as(media.check(url), [])
      : Effect.map(media.take(url, { accepts: (type) => new RegExp(types, "i").test(type), maxBytes, room }), ({ bytes: own, mediaType }) => [{ url, bytes: own, mediaType }])
    return Effect.mapError(said, errorOf(medium))
  }
  return Effect.match(Effect.forEach(remote, one, { concurrency }), { onFailure: (error) => error, onSuccess: (found): ReadonlyArray<FetchedMedium> | PublicError => found.flat() })
}
