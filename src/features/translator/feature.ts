/** A playground of the formats: what is a body's format, what does another say, and what becomes of a stream. */
import * as Feature from "#src/management/Feature.ts"
import { TranslatorGroup } from "./api.ts"
import * as Http from "./http.ts"

export const translator = Feature.make({
  name: "translator",
  groups: [TranslatorGroup],
  handlers: Http.layer
})
