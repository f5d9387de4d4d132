/** Cognition's Devin: https://docs.devin.ai/api-reference (v1 sessions). It has no field for a repository: the prompt names it. */
import type { TaskStatus } from "#src/features/cloudAgents/ports/CloudTask.ts"
import { activity, type CloudAgent, type Json, linkIn, listIn, noPlans, objectIn, type Order, type Progress, resultOf, textIn } from "./CloudAgent.ts"

const statuses: ReadonlyMap<string, TaskStatus> = new Map([
  ["working", "running"], ["blocked", "awaiting_approval"], ["resumed", "running"], ["resume_requested", "running"], ["resume_requested_frontend", "running"],
  ["suspend_requested", "running"], ["suspend_requested_frontend", "running"], ["finished", "completed"], ["stopped", "completed"], ["expired", "failed"]
])

const sessionPath = (externalId: string): string => `/v1/sessions/${encodeURIComponent(externalId)}`

const promptOf = ({ options, prompt, source }: Order): string => [
  prompt, "", `Repository: ${source.repoUrl}`, ...source.branch === undefined ? [] : [`Branch: ${source.branch}`],
  ...options.autoCreatePr ? ["Open a pull request with your changes."] : []
].join("\n")

const sessionOf = (answer: Json): Progress => {
  const word = textIn(answer["status_enum"])
  const status = statuses.get(word ?? "")
  const messages = listIn(answer["messages"])
  const last = messages.findLast(({ type }) => type === "devin_message")
  const result = resultOf(objectIn(answer["pull_request"])["url"], status === "completed" || status === "awaiting_approval" ? last?.["message"] : null)
  return {
    ...status === undefined ? {} : { status },
    ...result === null ? {} : { result },
    ...word === "expired" ? { error: "The session expired at Devin." } : {},
    ...messages.length === 0 ? {} : { activities: messages.map((one) => activity(one["event_id"], "message", one["message"], one["timestamp"])) }
  }
}

export const devin: CloudAgent = {
  id: "devin",
  title: "Devin",
  baseUrl: "https://api.devin.ai",
  headers: (apiKey) => ["authorization", `Bearer ${apiKey}`],
  refusal: noPlans("Devin"),
  start: (order) => ({ method: "POST", path: "/v1/sessions", body: { prompt: promptOf(order), title: order.prompt.slice(0, 100) } }),
  taken: (answer) => {
    const externalId = textIn(answer["session_id"])
    const url = linkIn(answer["url"])
    return externalId === null ? null : { externalId, status: "running", ...url === null ? {} : { conversationUrl: url } }
  },
  look: (externalId) => [{ call: { method: "GET", path: sessionPath(externalId), body: null }, read: sessionOf }],
  approve: null,
  message: (externalId, text) => ({ method: "POST", path: `${sessionPath(externalId)}/message`, body: { message: text } })
}
