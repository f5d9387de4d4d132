/** Error bodies by path alone, for answers that no endpoint gives. Loaded before the port opens: of the formats it needs their errors alone. */
import * as ChatCompletionsErrors from "#src/wire/chatCompletions/errors.ts"
import * as GenerateContentErrors from "#src/wire/generateContent/errors.ts"
import * as LocalModelServerErrors from "#src/wire/localModelServer/errors.ts"
import * as MessagesErrors from "#src/wire/messages/errors.ts"
import * as ResponsesErrors from "#src/wire/responses/errors.ts"

/** How errors are written for clients of an inference path. */
export const errorBodyAt = (path: string) => {
  if (path.startsWith("/v1beta/")) return GenerateContentErrors.errorBody
  if (path.startsWith("/v1/messages")) return MessagesErrors.errorBody
  if (path.endsWith("/responses")) return ResponsesErrors.errorBody
  return isLocal(path) ? LocalModelServerErrors.errorBody : ChatCompletionsErrors.errorBody
}

const localPath = /\/api\/(?:blobs\/[^/]+|chat|copy|create|delete|embed|embeddings|generate|ps|pull|push|show|tags|version)$/

/** Do clients of local model servers call this path? The gateway serves some of them. */
export const isLocal = (path: string): boolean => localPath.test(path)
