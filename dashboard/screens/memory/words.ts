/** What is remembered, as the page reads it: whose an entry is, what a form holds, and what a save would send. Pure. */
import type { Answer, Body } from "../../api/contract.ts"

export type Listed = Answer<"GET /api/memory">
export type Entry = Listed["data"][number]
export type Kind = Entry["type"]

export const kinds: ReadonlyArray<{ readonly value: Kind; readonly word: string }> = [
  { value: "factual", word: "Fact" }, { value: "episodic", word: "Event" }, { value: "semantic", word: "Meaning" }, { value: "procedural", word: "Way of doing" }
]
export const kindWord = (kind: Kind): string => kinds.find(({ value }) => value === kind)?.word ?? kind
export const kindOf = (text: string): Kind => kinds.find(({ value }) => value === text)?.value ?? "factual"

/** In place of an id: callers without an API key. */
export const NOBODY = "none"
export const nobody = { value: NOBODY, word: "Callers without a key" }
/** As the API names whose entries are meant: undefined = all, null = those of callers without a key. */
export const ownerOf = (chosen: string): string | null | undefined => chosen === "" ? undefined : chosen === NOBODY ? null : chosen

export interface Draft {
  readonly owner: string
  readonly key: string
  readonly kind: Kind
  readonly content: string
  readonly session: string
  /** JSON; empty = nothing. */
  readonly metadata: string
  /** Of the browser's zone; empty = never. */
  readonly ends: string
}

export const draftOf = (entry: Entry | null): Draft => ({
  owner: entry === null || entry.apiKeyId === "" ? NOBODY : entry.apiKeyId, key: entry?.key ?? "", kind: entry?.type ?? "factual", content: entry?.content ?? "", session: entry?.sessionId ?? "",
  metadata: entry === null || Object.keys(entry.metadata).length === 0 ? "" : JSON.stringify(entry.metadata), ends: ""
})

/** Undefined: it is no JSON object. */
export const metadataOf = (text: string): Entry["metadata"] | undefined => {
  if (text.trim() === "") return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Entry["metadata"] : undefined
  } catch {
    return undefined
  }
}

export const newOf = ({ content, ends, key, kind, metadata, owner, session }: Draft): Body<"POST /api/memory"> => ({
  apiKeyId: ownerOf(owner) ?? "", key, content, type: kind, sessionId: session, metadata: metadataOf(metadata) ?? {}, ...(ends === "" ? {} : { expiresAt: new Date(ends).toISOString() })
})

/** The body that stores an entry again as it was. */
export const againOf = ({ apiKeyId, content, expiresAt, key, metadata, sessionId, type }: Entry): Body<"POST /api/memory"> => ({ apiKeyId, key, content, type, sessionId, metadata, expiresAt })

export const changeOf = (draft: Draft, stored: Entry): Body<"PUT /api/memory/:id"> => {
  const metadata = metadataOf(draft.metadata) ?? stored.metadata
  return {
    ...(draft.key === stored.key ? {} : { key: draft.key }), ...(draft.kind === stored.type ? {} : { type: draft.kind }), ...(draft.content === stored.content ? {} : { content: draft.content }),
    ...(JSON.stringify(metadata) === JSON.stringify(stored.metadata) ? {} : { metadata })
  }
}
