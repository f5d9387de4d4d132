/**
 * Tools in a namespace: other formats have flat names only, so a call travels as `<namespace>__<name>` and is taken apart on its way
 * back. A flat name that another tool already has gets a number.
 */
import type { Namespace } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"

export interface QualifiedName {
  readonly name: string
  readonly namespace: string
}

export const flatName = (namespace: string, name: string): string => `${namespace}__${name}`

/** The namespaces of a request's tools. */
export const namespacesOf = (tools: unknown): ReadonlyArray<Namespace> => {
  const list = Array.isArray(tools) ? tools.filter(Json.isRecord) : []
  const taken = new Set<string>()
  for (const tool of list) if (tool["type"] !== "namespace" && typeof tool["name"] === "string") taken.add(tool["name"])
  const fresh = (namespace: string, name: string): string => {
    const plain = flatName(namespace, name)
    let flat = plain
    for (let i = 2; taken.has(flat); i++) flat = `${plain}_${i}`
    taken.add(flat)
    return flat
  }
  return list.flatMap(({ description, name: namespace, tools: members, type }) => {
    if (type !== "namespace" || typeof namespace !== "string" || !Array.isArray(members)) return []
    return [{
      name: namespace,
      description: typeof description === "string" ? description : null,
      members: members.flatMap((member: unknown) =>
        Json.isRecord(member) && typeof member["name"] === "string" ? [{ flat: fresh(namespace, member["name"]), name: member["name"] }] : []
      )
    }]
  })
}

/** The flat name of a tool, declared or not. */
export const flatIn = (namespaces: ReadonlyArray<Namespace>, namespace: string, name: string): string => {
  for (const one of namespaces) {
    if (one.name !== namespace) continue
    const found = one.members.find((member) => member.name === name)
    if (found !== undefined) return found.flat
  }
  return flatName(namespace, name)
}

/** What flat names stand for. */
export const qualified = (namespaces: ReadonlyArray<Namespace>): ReadonlyMap<string, QualifiedName> =>
  new Map(namespaces.flatMap(({ members, name: namespace }) => members.map(({ flat, name }) => [flat, { namespace, name }] as const)))
