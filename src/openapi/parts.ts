/** Parts of conversations that several request schemas hold; each is described once. */
import * as Schema from "effect/Schema"
import * as ChatCompletions from "#schemas/wire/chatCompletions.ts"
import * as Messages from "#schemas/wire/messages.ts"
import * as Responses from "#schemas/wire/responses.ts"
import { type Json, type JsonObject, rewrite } from "./json.ts"
import { ref } from "./operation.ts"

/** By the name of their component; a part stands behind the parts that it holds. */
const parts: Readonly<Record<string, Schema.Top>> = {
  /** Of a type that the gateway does not know. */
  OtherPart: ChatCompletions.OtherPart,
  ChatCacheControl: ChatCompletions.CacheControl,
  ChatTextPart: ChatCompletions.TextPart,
  ChatImagePart: ChatCompletions.ImagePart,
  ChatInputAudioPart: ChatCompletions.InputAudioPart,
  ChatAudioUrlPart: ChatCompletions.AudioUrlPart,
  ChatVideoPart: ChatCompletions.VideoPart,
  ChatFilePart: ChatCompletions.FilePart,
  ChatParts: ChatCompletions.Parts,
  ChatContent: ChatCompletions.Content,
  ChatToolCall: ChatCompletions.ToolCall,
  MessagesCacheControl: Messages.CacheControl,
  MessagesTextBlock: Messages.TextBlock,
  MessagesImageBlock: Messages.ImageBlock,
  MessagesDocumentBlock: Messages.DocumentBlock,
  MessagesSearchResultBlock: Messages.SearchResultBlock,
  MessagesToolResultBlock: Messages.ToolResultBlock,
  MessagesMessage: Messages.Message,
  MessagesTools: Messages.Tools,
  MessagesJsonSchemaFormat: Messages.JsonSchemaFormat,
  ResponsesCacheBreakpoint: Responses.CacheBreakpoint,
  ResponsesPart: Responses.Part
}

/** JSON schemas of the parts and of `requests`, in which a part is a reference. `tidy`: how each object is written. */
export const components = (requests: Readonly<Record<string, Schema.Top>>, tidy: (schema: JsonObject, name: string) => JsonObject): JsonObject => {
  const nameOf = new Map<string, string>()
  const written = (schema: Schema.Top): Json => rewrite(Schema.toJsonSchemaDocument(schema).schema as Json, (object, name) => {
    const tidied = tidy(object, name)
    const part = nameOf.get(JSON.stringify(tidied))
    return part === undefined ? tidied : ref(part)
  })
  const described = Object.entries(parts).map(([name, schema]) => {
    const part = written(schema)
    nameOf.set(JSON.stringify(part), name)
    return [name, part] as const
  })
  return { ...Object.fromEntries(described), ...Object.fromEntries(Object.entries(requests).map(([name, schema]) => [name, written(schema)])) }
}
