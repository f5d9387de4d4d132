/** Error bodies by path alone, for answers that no endpoint gives. */
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import * as GenerateContent from "#src/wire/generateContent/index.ts"
import * as LocalModelServer from "#src/wire/localModelServer/index.ts"
import * as Messages from "#src/wire/messages/index.ts"
import * as Responses from "#src/wire/responses/index.ts"

/** How errors are written for clients of an inference path. */
export const errorBodyAt = (path: string) => {
  if (path.startsWith("/v1beta/")) return GenerateContent.client.errorBody
  if (path.startsWith("/v1/messages")) return Messages.client.errorBody
  if (path.endsWith("/responses")) return Responses.client.errorBody
  return isLocal(path) ? LocalModelServer.client.errorBody : ChatCompletions.client.errorBody
}

const localPath = /\/api\/(?:blobs\/[^/]+|chat|copy|create|delete|embed|embeddings|generate|ps|pull|push|show|tags|version)$/

/** Do clients of local model servers call this path? The gateway serves some of them. */
export const isLocal = (path: string): boolean => localPath.test(path)
