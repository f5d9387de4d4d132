/**
 * `ThoughtSignatures` over a Redis channel: each node sends its own and remembers those of others, so no request waits for Redis. A
 * message that is lost costs a call its signature, as a restart does.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { ThoughtSignatures } from "#src/inference/ports/pastCalls/ThoughtSignatures.ts"
import * as SignatureMemory from "./SignatureMemory.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"

const channel = "thought-signatures"

const Message = Schema.Struct({
  from: Schema.String,
  key: Schema.String.check(Schema.isMaxLength(64)),
  family: Schema.Literals(["chat-completions", "messages", "responses", "generateContent", "local-model-server"]),
  value: Schema.String
})
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Message))

export const make = Effect.fnUntraced(function*(nodeId: string) {
  const redis = yield* RedisStore
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const memory = SignatureMemory.make(() => clock.currentTimeMillisUnsafe())
  yield* redis.subscribe(channel, {
    message: (text) => {
      const message = decode(text)
      if (message._tag === "None" || message.value.from === nodeId) return
      const { family, key, value } = message.value
      memory.put(key, { family, value })
    },
    gap: () => {}
  })
  return ThoughtSignatures.of({
    remember: (scope, callId, signature) => {
      const key = SignatureMemory.keyOf(scope, callId)
      if (memory.put(key, signature)) run(Effect.ignore(redis.publish(channel, JSON.stringify({ from: nodeId, key, ...signature }))))
    },
    recall: (scope, callId) => memory.get(SignatureMemory.keyOf(scope, callId))
  })
})

/** Between the nodes of the deployment's Redis. */
export const layer = (nodeId: string): Layer.Layer<ThoughtSignatures, never, RedisStore> => Layer.effect(ThoughtSignatures, make(nodeId))
