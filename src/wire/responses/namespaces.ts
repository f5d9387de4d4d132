/** Tools in a namespace: other formats have flat names only, so a call travels as `<namespace>__<name>` and is taken apart on its way back. */
import * as Json from "#src/wire/json.ts"

export interface QualifiedName {
  readonly name: string
  readonly namespace: string
}

export const flatName = (namespace: string, name: string): string => `${namespace}__${name}`

/** Flat names of a request's namespaced tools. */
export const namesOf = (request: Readonly<Record<string, unknown>>): ReadonlyMap<string, QualifiedName> => {
  const names = new Map<string, QualifiedName>()
  const tools = request["tools"]
  if (!Array.isArray(tools)) return names
  for (const tool of tools) {
    if (!Json.isRecord(tool) || tool["type"] !== "namespace" || typeof tool["name"] !== "string" || !Array.isArray(tool["tools"])) continue
    for (const member of tool["tools"]) {
      if (!Json.isRecord(member) || typeof member["name"] !== "string") continue
      names.set(flatName(tool["name"], member["name"]), { namespace: tool["name"], name: member["name"] })
    }
  }
  return names
}
