/**
 * Provider breakers over several nodes: openings and closings travel over a Redis channel; the one probe is a key that
 * expires. Without Redis each node decides alone: this feature fails open.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Resilience } from "#actors/request/ports/Resilience.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { BreakerTable, CLAIM_MS } from "./BreakerTable.ts"
import { RedisStore, type RedisScript } from "#src/platform/redis/RedisStore.ts"

const channel = "breakers"

/** `wants`: a node wants the claim; the rest is `BreakerNotice`. */
const Message = Schema.Struct({
  from: Schema.String,
  provider: Schema.String,
  model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  forMs: Schema.optionalKey(Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400_000 })))),
  wants: Schema.optionalKey(Schema.Literal(true))
})
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Message))

const giveUp: RedisScript = {
  name: "breaker-give-up",
  purpose: "a provider's recovery check was handed back",
  lua: `-- KEYS[1]: the claim; ARGV[1]: the node that gives it up. Replies 1 when it was that node's.
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`
}

export const make = Effect.fnUntraced(function*(nodeId: string) {
  const redis = yield* RedisStore
  const inner = yield* Resilience
  const control = yield* ResilienceControl
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const later = yield* FiberSet.makeRuntime<never, void, never>()
  const keyOf = (provider: string) => `breaker-probe:${provider}`

  const table = new BreakerTable(inner, control, {
    now: () => clock.currentTimeMillisUnsafe(),
    tell: (notice) => {
      run(Effect.ignore(redis.publish(channel, JSON.stringify({ from: nodeId, ...notice }))))
    },
    claim: (provider, answer) => {
      run(Effect.match(redis.command("SET", [redis.prefix + keyOf(provider), nodeId, "NX", "PX", CLAIM_MS]), {
        onFailure: () => answer(true),
        onSuccess: (reply) => answer(reply !== null)
      }))
    },
    want: (provider) => {
      run(Effect.ignore(redis.publish(channel, JSON.stringify({ from: nodeId, provider, wants: true }))))
    },
    after: (ms, look) => {
      later(Effect.delay(Effect.sync(look), ms))
    },
    giveUp: (provider) => {
      run(Effect.ignore(redis.run(giveUp, [keyOf(provider)], [nodeId])))
    }
  })
  yield* redis.subscribe(channel, {
    message: (text) => {
      const message = decode(text)
      if (message._tag === "None" || message.value.from === nodeId) return
      const { forMs, model, provider, wants } = message.value
      if (wants === true) table.wanted(provider)
      else if (forMs !== undefined) table.hear({ provider, model: model ?? null, forMs })
    },
    // What was missed is found out by calling.
    gap: () => {}
  })

  return Context.make(Resilience, { check: table.check, enter: table.enter, spent: inner.spent, health: inner.health }).pipe(
    Context.add(ResilienceControl, { ...control, breakers: table.breakers, resetBreakers: table.reset })
  )
})

/** Over the node's own resilience, which it needs and replaces. */
export const layer = (nodeId: string) => Layer.effectContext(make(nodeId))
