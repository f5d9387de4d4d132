/** Where a provider takes conversations, and in which format: its own, or the one in which an operator says that a model is called. Pure. */
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { Provider } from "#schemas/Provider.ts"
import type { FamilyName } from "#schemas/wire/conversation.ts"

/** `{model}` in a path stands for the model's id. */
export interface ConversationPlace {
  readonly family: FamilyName
  readonly path: string
  readonly streamPath: string
}

const usual: Readonly<Record<FamilyName, readonly [path: string, streamPath: string]>> = {
  "chat-completions": ["/chat/completions", "/chat/completions"],
  "messages": ["/messages", "/messages"],
  "responses": ["/responses", "/responses"],
  "generateContent": ["/models/{model}:generateContent", "/models/{model}:streamGenerateContent?alt=sse"],
  "local-model-server": ["/api/chat", "/api/chat"]
}

export const onePath = <Family>(family: Family, path: string): { readonly family: Family; readonly path: string; readonly streamPath: string } =>
  ({ family, path, streamPath: path })

/** The usual path of another format, beside the provider's own where that is a usual one, else below its base URL. */
const beside = (own: ConversationPlace | null, family: FamilyName): ConversationPlace => {
  const before = own !== null && own.path.endsWith(usual[own.family][0]) ? own.path.slice(0, -usual[own.family][0].length) : ""
  const [path, streamPath] = usual[family]
  return { family, path: before + path, streamPath: before + streamPath }
}

type NodePlace = Pick<ProviderNode, "type" | "apiType" | "chatPath">

const ownOfNode = ({ apiType, chatPath, type }: NodePlace): ConversationPlace | null => {
  const family = type === "anthropic-compatible" ? "messages" : apiType === null || apiType === "chat" ? "chat-completions" : apiType === "responses" ? "responses" : null
  return family === null ? null : onePath(family, chatPath ?? usual[family][0])
}

/** `wanted`: the format that the model is called in; null = the node's. Null when the node is for other requests. */
export const ofNode = (node: NodePlace, wanted: FamilyName | null): ConversationPlace | null => {
  const own = ownOfNode(node)
  return own === null || wanted === null || own.family === wanted ? own : beside(own, wanted)
}

/** The same of a row of the registry. */
export const ofRow = (row: Provider, wanted: FamilyName | null): ConversationPlace | null => {
  const main = row.wireFormat === "none" || row.chatPath === null ? null : { family: row.wireFormat, path: row.chatPath, streamPath: row.streamPath ?? row.chatPath }
  if (wanted === null || main?.family === wanted) return main
  const known = row.paths?.[wanted]
  return known !== undefined ? onePath(wanted, known) : main === null ? null : beside(main, wanted)
}
