/** One vendor's coding agent: how it is asked, and what its answers say. Pure: the calls are made elsewhere. */
import type { AgentId, TaskActivity, TaskOptions, TaskResult, TaskSource, TaskStatus } from "#src/features/cloudAgents/ports/CloudTask.ts"

export type Json = Readonly<Record<string, unknown>>

export interface Call {
  readonly method: "GET" | "POST"
  /** Below the agent's base URL, with its query. */
  readonly path: string
  readonly body: Json | null
}

export interface Order {
  readonly prompt: string
  readonly source: TaskSource
  readonly options: TaskOptions
}

/** What an answer tells of a task; absent: it does not say. */
export interface Progress {
  readonly status?: TaskStatus
  readonly result?: TaskResult
  readonly error?: string
  readonly conversationUrl?: string
  readonly activities?: ReadonlyArray<TaskActivity>
}

/** A question about a task, and what its answer says. */
export interface Look {
  readonly call: Call
  readonly read: (answer: Json) => Progress
  /** Of a long list: the call for what follows; null at its end. */
  readonly next?: (answer: Json) => Call | null
}

export interface Taken extends Progress {
  readonly externalId: string
}

export interface CloudAgent {
  readonly id: AgentId
  readonly title: string
  readonly baseUrl: string
  readonly headers: (apiKey: string) => ReadonlyArray<string>
  /** Why it cannot take the order, by the field that says so; null when it can. */
  readonly refusal: (order: Order) => { readonly field: string; readonly message: string } | null
  readonly start: (order: Order) => Call
  /** Null when the answer names no task. */
  readonly taken: (answer: Json) => Taken | null
  /** All of them are asked for what became of the task. */
  readonly look: (externalId: string) => ReadonlyArray<Look>
  /** Null: its API has no plans to approve. */
  readonly approve: ((externalId: string) => Call) | null
  readonly message: (externalId: string, text: string) => Call
}

/** Activities of a task, and characters of each, that are kept. */
export const ACTIVITIES_MAX = 200
const CONTENT_MAX = 10_000

export const textIn = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null
export const objectIn = (value: unknown): Json => typeof value === "object" && value !== null && !Array.isArray(value) ? value as Json : {}
export const listIn = (value: unknown): ReadonlyArray<Json> => Array.isArray(value) ? value.map(objectIn) : []

/** An http(s) address, or null: nothing else is shown as a link. */
export const linkIn = (value: unknown): string | null => {
  const text = textIn(value)
  return text !== null && text.length <= 2_000 && /^https?:\/\//.test(text) && URL.canParse(text) ? text : null
}

/** `.../pull/12`, `.../pulls/12`, `.../merge_requests/12`. */
const numberOf = (url: string): number | null => {
  const found = /\/(?:pull|pulls|merge_requests|pull-requests)\/(\d{1,9})(?:$|[/?#])/.exec(url)
  return found === null ? null : Number(found[1])
}

/** Null when there is neither a pull request nor a summary. */
export const resultOf = (pullRequest: unknown, summary: unknown): TaskResult | null => {
  const prUrl = linkIn(pullRequest)
  const said = textIn(summary)
  return prUrl === null && said === null ? null : { prUrl, prNumber: prUrl === null ? null : numberOf(prUrl), summary: said === null ? null : said.slice(0, CONTENT_MAX) }
}

/** Of an RFC 3339 time; null for anything else. */
const isoIn = (value: unknown): string | null => {
  const at = new Date(textIn(value) ?? Number.NaN)
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}

export const activity = (id: unknown, type: TaskActivity["type"], content: unknown, timestamp: unknown): TaskActivity =>
  ({ id: textIn(id) ?? "", type, content: (textIn(content) ?? "").slice(0, CONTENT_MAX), timestamp: isoIn(timestamp), metadata: {} })

const approvalRefused = (title: string) => ({ field: "options.planApprovalRequired", message: `${title} offers no plans to approve over its API` })

export const noPlans = (title: string) => ({ options }: Order) => options.planApprovalRequired ? approvalRefused(title) : null
