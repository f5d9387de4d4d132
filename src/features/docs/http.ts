import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Surface from "#src/management/Surface.ts"
import { DescriptionGroup } from "./api.ts"
import { Description } from "./Description.ts"

export const layer = HttpApiBuilder.group(Surface.make(DescriptionGroup), "openapi", Effect.fn(function*(handlers) {
  const { reply } = yield* Description
  return handlers.handleAll({ spec: () => reply })
}))
