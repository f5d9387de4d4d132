/** A provider node as it is made, changed and shown. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { isTimeZone } from "#schemas/timeZone.ts"
import type { NewNode, NodeChange, NodeView } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import * as InlineImage from "#schemas/words/InlineImage.ts"
import { ownerOf } from "#src/management/ownership/ownership.ts"
import { keepRedacted, redactHeaders } from "#src/management/redact.ts"

const HEADERS_MAX = 16
const HEADER_NAME_MAX = 128
const HEADER_VALUE_MAX = 4096
/** Bytes of an icon. */
const ICON_MAX = 256 * 1024

const defaultBase = {
  "openai-compatible": "https://api.openai.com/v1",
  "anthropic-compatible": "https://api.anthropic.com/v1"
} as const

/** Names that the gateway sets itself or that belong to one hop. */
const refusedHeaders = new Set([
  "authorization", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
  "transfer-encoding", "upgrade", "host", "content-length", "expect"
])

export const view = (node: ProviderNode, snapshot: Pick<Snapshot, "fileOwned">): NodeView =>
  ({ ...node, customHeaders: redactHeaders(node.customHeaders), owner: ownerOf(snapshot, "node", node.id) })

/** The base under which paths are added: no trailing slash, and for the Anthropic type no trailing /messages. */
export const normalizedBase = (type: ProviderNode["type"], baseUrl: string | undefined): string => {
  const base = (baseUrl ?? defaultBase[type]).trim().replace(/\/+$/, "")
  return type === "anthropic-compatible" ? base.replace(/\/messages$/, "").replace(/\/+$/, "") : base
}

/** Printable, and of so many characters at most. */
export const isHeaderValue = (value: string, most: number): boolean => value.length <= most && !/[^\t\x20-\x7e\x80-\xff]/.test(value)

/** What stands in the way of sending these headers upstream beside the gateway's own. */
export const headerIssues = (field: string, headers: Readonly<Record<string, string>>): ReadonlyArray<FieldIssue> => {
  const names = Object.keys(headers)
  if (names.length > HEADERS_MAX) return [{ field, message: `At most ${HEADERS_MAX} headers` }]
  return names.flatMap((name): ReadonlyArray<FieldIssue> => {
    const value = headers[name] as string
    const message = !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || name.length > HEADER_NAME_MAX
      ? `Expected a header name of at most ${HEADER_NAME_MAX} characters`
      : refusedHeaders.has(name.toLowerCase())
      ? "This header is set by the gateway"
      : !isHeaderValue(value, HEADER_VALUE_MAX)
      ? `Expected a header value of at most ${HEADER_VALUE_MAX} printable characters`
      : null
    return message === null ? [] : [{ field: `${field}.${name}`, message }]
  })
}

const issuesOf = (node: ProviderNode): ReadonlyArray<FieldIssue> => {
  const issues: Array<FieldIssue> = [...headerIssues("customHeaders", node.customHeaders)]
  if (node.type === "openai-compatible" && node.apiType === null) issues.push({ field: "apiType", message: "Required for openai-compatible nodes" })
  if (!/^https?:\/\/[^\s/?#]+[^\s?#]*$/i.test(node.baseUrl)) issues.push({ field: "baseUrl", message: "Expected an http(s) URL without query" })
  const icon = node.iconUrl === null ? null : InlineImage.problemOf(node.iconUrl, ICON_MAX)
  if (icon !== null) issues.push({ field: "iconUrl", message: icon })
  if (node.dailyQuotaResetTimezone !== null && !isTimeZone(node.dailyQuotaResetTimezone)) {
    issues.push({ field: "dailyQuotaResetTimezone", message: "Expected an IANA time zone" })
  }
  return issues
}

const checked = (node: ProviderNode): ProviderNode | Refusal.Refusal => {
  const issues = issuesOf(node)
  return issues.length === 0 ? node : Refusal.invalidFields(issues)
}

export const make = (input: Omit<NewNode, "apiKey">, uuid: string, now: string): ProviderNode | Refusal.Refusal => checked({
  id: input.type === "openai-compatible" ? `openai-compatible-${input.apiType ?? "chat"}-${uuid}` : `anthropic-compatible-${uuid}`,
  type: input.type,
  name: input.name,
  prefix: input.prefix,
  apiType: input.apiType ?? null,
  baseUrl: normalizedBase(input.type, input.baseUrl),
  chatPath: input.chatPath ?? null,
  modelsPath: input.modelsPath ?? null,
  iconUrl: input.iconUrl ?? null,
  customHeaders: input.customHeaders ?? {},
  dailyQuotaResetTimezone: input.dailyQuotaResetTimezone ?? null,
  dailyQuotaResetHour: input.dailyQuotaResetHour ?? null,
  createdAt: now,
  updatedAt: now
})

export const apply = (current: ProviderNode, change: NodeChange, now: string): ProviderNode | Refusal.Refusal => {
  if (change.type !== undefined && change.type !== current.type) return Refusal.invalidField("type", "The type of a node cannot change")
  const { baseUrl, customHeaders, ...rest } = change
  return checked({
    ...current,
    ...rest,
    baseUrl: baseUrl === undefined ? current.baseUrl : normalizedBase(current.type, baseUrl),
    customHeaders: customHeaders === undefined ? current.customHeaders : keepRedacted(customHeaders ?? {}, current.customHeaders),
    updatedAt: now
  })
}
