/** The gateway's own system prompt, which every conversation has. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { SystemPromptGroup } from "./api.ts"
import * as Http from "./http.ts"

export const systemPrompt = Feature.make({
  name: "systemPrompt",
  groups: [SystemPromptGroup],
  handlers: Http.layer,
  acting: [Acting.systemPrompt]
})
