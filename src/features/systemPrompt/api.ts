import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { partial } from "#schemas/api/fields.ts"
import { SystemPromptSettings } from "#schemas/words/SystemPrompt.ts"

const path = "/api/settings/system-prompt"

/** Texts of the operator around the instructions of every conversation. */
export const SystemPromptGroup = HttpApiGroup.make("systemPrompt").add(
  HttpApiEndpoint.get("get", path, { success: SystemPromptSettings })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The gateway's own system prompt"),
  HttpApiEndpoint.put("put", path, { payload: partial(SystemPromptSettings), success: SystemPromptSettings })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of the gateway's own system prompt")
).annotateMerge(OpenApi.annotations({ title: "System prompt", description: "Texts around the instructions of every conversation." }))
