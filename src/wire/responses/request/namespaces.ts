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
  const numbers = new Map<string, number>()
  const fresh = (namespace: string, name: string): string => {
    const plain = flatName(namespace, name)
    let flat = plain
    let i = numbers.get(plain) ?? 2
    for (; taken.has(flat); i++) flat = `${plain}_${i}`
    taken.add(flat)
    numbers.set(plain, i)
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

/** The flat name of a tool in a namespace, declared or not. */
export type FlatName = (namespace: string, name: string) => string

export const flatNames = (namespaces: ReadonlyArray<Namespace>): FlatName => {
  const found = new Map<string, Map<string, string>>()
  for (const { members, name: namespace } of namespaces) {
    const flats = found.get(namespace) ?? new Map<string, string>()
    found.set(namespace, flats)
    // Of two of one name the first is meant.
    for (const { flat, name } of members) if (!flats.has(name)) flats.set(name, flat)
  }
  return (namespace, name) => found.get(namespace)?.get(name) ?? flatName(namespace, name)
}

/** What flat names stand for. */
export const qualified = (namespaces: ReadonlyArray<Namespace>): ReadonlyMap<string, QualifiedName> =>
  new Map(namespaces.flatMap(({ members, name: namespace }) => members.map(({ flat, name }) => [flat, { namespace, name }] as const)))
