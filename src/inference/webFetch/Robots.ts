/** Asks a site's robots.txt before one of its pages is read, and remembers what it said. */
import * as Cache from "effect/Cache"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as StatusReason from "#schemas/statusReason.ts"
import { type MediaFetch, MediaRefused } from "#src/platform/media/MediaFetch.ts"
import * as PagesRobots from "#src/platform/pages/robots.ts"

/** Largest robots.txt, bytes. */
const maxBytes = 512 * 1024
const redirects = 5
/** Sites that are remembered, and for how long; one that could not be asked is asked again soon. */
const capacity = 1_000
const known = Duration.hours(1)
const unknown = Duration.seconds(30)

/** Fails for a page that its site keeps from robots, and for a site that cannot be asked. */
export type Check = (url: string) => Effect.Effect<void, MediaRefused>

const refuse = (message: string): MediaRefused => new MediaRefused({ message, status: null })

export const make = (media: Pick<MediaFetch["Service"], "take">): Effect.Effect<Check> => Effect.map(
  Cache.makeWith((origin: string) => media.take(`${origin}/robots.txt`, { accepts: () => true, maxBytes, room: { left: maxBytes }, redirects }).pipe(
    Effect.map(({ bytes }) => PagesRobots.parse(Buffer.from(bytes).toString("utf8"))),
    // Without such a file everything is open.
    Effect.catch((error) => error.status !== null && !StatusReason.isServers(error.status) ? Effect.succeed(PagesRobots.everything) : Effect.fail(refuse(`its robots.txt was not read: ${error.message}`)))
  ), { capacity, timeToLive: (exit) => exit._tag === "Success" ? known : unknown }),
  (cache): Check => (text) => {
    const url = new URL(text)
    return Effect.flatMap(Cache.get(cache, url.origin), (rules) => PagesRobots.allows(rules, url) ? Effect.void : Effect.fail(refuse("its robots.txt forbids it (GATEWAY_WEB_FETCH_ROBOTS)")))
  }
)
