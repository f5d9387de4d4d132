/** One request that throws costs the others neither their heartbeat nor their end. */
import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import type { Inbound } from "#actors/request/Inbound.ts"
import type { LiveRequest } from "#actors/request/LiveRequest.ts"
import { LiveRequests } from "#src/inference/lane/live/LiveRequests.ts"

it("a request whose heartbeat or end throws is told of, and all others have theirs", () => {
  const heard: Array<string> = []
  const did: Array<string> = []
  const live = new LiveRequests((error) => heard.push(String(error)))
  const request = (name: string): LiveRequest => {
    const act = (what: string) => (): void => {
      if (name === "b") throw new Error(`${what} of ${name}`)
      did.push(`${what} of ${name}`)
    }
    return { inbound: {} as Inbound, startedAt: 0, attempts: 0, outputText: "", target: null, beat: act("beat"), shutDown: act("end"), interrupted: Effect.void, rosterSlot: -1 }
  }
  for (const name of ["a", "b", "c"]) live.add(request(name))
  live.beat(1)
  live.shutDown()
  expect(did.sort()).toEqual(["beat of a", "beat of c", "end of a", "end of c"])
  expect(heard).toEqual(["Error: beat of b", "Error: end of b"])
})
