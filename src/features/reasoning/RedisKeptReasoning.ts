/**
 * `KeptReasoning` over a Redis channel: each node sends what it keeps and what is to be forgotten, so no request waits for Redis. A
 * message that is lost costs a turn its thoughts, as a restart does.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { KeptReasoning } from "#src/inference/ports/pastCalls/KeptReasoning.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import { bounds, ReasoningMemory } from "./ReasoningMemory.ts"

const channel = "kept-reasoning"

const id = Schema.String.check(Schema.isMaxLength(1_000))
const Message = Schema.Union([
  Schema.Struct({
    from: Schema.String,
    calls: Schema.Array(Schema.Tuple([Schema.String.check(Schema.isMaxLength(64)), id])),
    thought: Schema.Struct({ provider: id, model: id, reasoning: Schema.String.check(Schema.isMaxLength(bounds.each)) })
  }),
  Schema.Struct({
    from: Schema.String,
    forget: Schema.Union([
      Schema.Struct({ _tag: Schema.Literal("All") }),
      Schema.Struct({ _tag: Schema.Literal("Call"), callId: id }),
      Schema.Struct({ _tag: Schema.Literal("Provider"), provider: id })
    ])
  })
])
type Message = Schema.Schema.Type<typeof Message>
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Message))

export const make = Effect.fnUntraced(function*(nodeId: string) {
  const redis = yield* RedisStore
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const memory = new ReasoningMemory(() => clock.currentTimeMillisUnsafe())
  yield* redis.subscribe(channel, {
    message: (text) => {
      const message = decode(text)
      if (message._tag === "None" || message.value.from === nodeId) return
      if ("forget" in message.value) memory.forget(message.value.forget)
      else memory.put(message.value.calls, message.value.thought)
    },
    gap: () => {}
  })
  const tell = (message: Message): void => void run(Effect.ignore(redis.publish(channel, JSON.stringify(message))))
  return KeptReasoning.of({
    remember: (scope, callIds, thought) => {
      const calls = memory.keyed(scope, callIds)
      if (memory.put(calls, thought)) tell({ from: nodeId, calls, thought })
    },
    forget: (what) => {
      tell({ from: nodeId, forget: what })
      return memory.forget(what)
    },
    recall: memory.recall, list: memory.list, counts: memory.counts
  })
})

/** Between the nodes of the deployment's Redis. */
export const layer = (nodeId: string): Layer.Layer<KeptReasoning, never, RedisStore> => Layer.effect(KeptReasoning, make(nodeId))
