/** What each format says about counting tokens. */
import { client as generateContent } from "#src/wire/generateContent/index.ts"
import * as GenerateModels from "#src/wire/generateContent/generateModels.ts"
import { client as messages } from "#src/wire/messages/index.ts"
import * as CountTokens from "#src/wire/messages/request/countTokens.ts"
import { client as responses } from "#src/wire/responses/index.ts"
import type { Words } from "./Asked.ts"

export const contentWords: Words = {
  codec: generateContent,
  format: "generateContent",
  providerReply: (reply) => typeof reply["totalTokens"] === "number" ? JSON.stringify(reply) : null,
  estimatedReply: (tokens) => JSON.stringify(GenerateModels.countTokensAnswer(tokens))
}

export const messagesWords: Words = {
  codec: messages,
  format: "messages",
  providerReply: (reply, target) => CountTokens.providerReply(reply, target.publicModel, target.providerAlias),
  estimatedReply: CountTokens.estimatedReply
}

const responsesReply = (tokens: number): string => JSON.stringify({ object: "response.input_tokens", input_tokens: tokens })

export const responsesWords: Words = {
  codec: responses,
  format: "responses",
  providerReply: (reply) => typeof reply["input_tokens"] === "number" ? responsesReply(reply["input_tokens"]) : null,
  estimatedReply: responsesReply
}
