/** The telemetry of one of several workers: it tells its supervisor what it has counted, and answers a scrape for all of them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { Scraped, Tell } from "./messages.ts"
import { WAIT_MS } from "./Scrapes.ts"
import * as Worker from "./Worker.ts"

/** How long the supervisor may take, which waits for the workers itself, ms. */
const SUPERVISOR_MS = WAIT_MS + 1_500

const isTell = Schema.is(Tell)
const isScraped = Schema.is(Scraped)

export const layer: Layer.Layer<Telemetry, never, Telemetry> = Layer.effect(Telemetry, Effect.gen(function*() {
  const telemetry = yield* Telemetry
  const asking = new Map<number, (text: string | null) => void>()
  let count = 0
  yield* Effect.acquireRelease(
    Effect.sync(() => Worker.hear((message) => {
      if (isTell(message)) Worker.tell({ gateway: "told", round: message.round, text: telemetry.render() })
      else if (isScraped(message)) asking.get(message.id)?.(message.text)
    })),
    (quiet) => Effect.sync(quiet)
  )
  return Telemetry.of({
    ...telemetry,
    scrape: (answer) => {
      const id = ++count
      const done = (text: string | null): void => {
        clearTimeout(timer)
        asking.delete(id)
        answer(text)
      }
      const timer = setTimeout(() => done(null), SUPERVISOR_MS)
      asking.set(id, done)
      Worker.tell({ gateway: "scrape", id })
    }
  })
}))
