import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import { TranslatorGroup } from "./api.ts"
import * as Playground from "./playground.ts"

export const layer = HttpApiBuilder.group(Surface.make(TranslatorGroup), "translator", Effect.fn(function*(handlers) {
  const playground = yield* Playground.make
  return handlers.handleAll({
    detect: ({ payload }) => Effect.sync(() => playground.detect(payload)),
    translate: ({ payload }) => answer(playground.translate(payload)),
    send: ({ payload }) => answer(playground.send(payload)),
    stream: ({ payload }) => answer(playground.play(payload)),
    history: () => answer(Effect.map(playground.history, (entries) => ({ entries }))),
    load: ({ query }) => answer(playground.load(query.name)),
    save: ({ payload: { name, ...content } }) => answer(playground.save(name, content)),
    remove: ({ query }) => answer(Effect.as(playground.remove(query.name), { success: true as const }))
  })
}))
