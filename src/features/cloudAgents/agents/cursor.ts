/** Cursor's cloud agents: https://docs.cursor.com/background-agent/api (v0 agents). */
import type { TaskStatus } from "#src/features/cloudAgents/ports/CloudTask.ts"
import { activity, type CloudAgent, type Json, linkIn, listIn, noPlans, objectIn, type Progress, resultOf, textIn } from "./CloudAgent.ts"

const statuses: ReadonlyMap<string, TaskStatus> = new Map([
  ["CREATING", "queued"], ["PENDING", "queued"], ["RUNNING", "running"], ["FINISHED", "completed"], ["STOPPED", "failed"], ["ERROR", "failed"], ["EXPIRED", "failed"]
])
const failures: ReadonlyMap<string, string> = new Map([
  ["STOPPED", "The agent was stopped at Cursor."], ["ERROR", "The agent failed at Cursor."], ["EXPIRED", "The agent expired at Cursor."]
])

const agentPath = (externalId: string): string => `/v0/agents/${encodeURIComponent(externalId)}`

const agentOf = (answer: Json): Progress => {
  const word = textIn(answer["status"]) ?? ""
  const status = statuses.get(word)
  const target = objectIn(answer["target"])
  const result = resultOf(target["prUrl"], answer["summary"])
  const url = linkIn(target["url"])
  const error = failures.get(word)
  return {
    ...status === undefined ? {} : { status },
    ...result === null ? {} : { result },
    ...error === undefined ? {} : { error },
    ...url === null ? {} : { conversationUrl: url }
  }
}

/** Cursor gives messages no time of their own. */
const conversationOf = (answer: Json): Progress => ({
  activities: listIn(answer["messages"]).map((one) => activity(one["id"], "message", one["text"], one["createdAt"]))
})

export const cursor: CloudAgent = {
  id: "cursor",
  title: "Cursor",
  baseUrl: "https://api.cursor.com",
  headers: (apiKey) => ["authorization", `Bearer ${apiKey}`],
  refusal: noPlans("Cursor"),
  start: ({ options, prompt, source }) => ({
    method: "POST", path: "/v0/agents",
    body: {
      prompt: { text: prompt },
      source: { repository: source.repoUrl, ...source.branch === undefined ? {} : { ref: source.branch } },
      target: { autoCreatePr: options.autoCreatePr }
    }
  }),
  taken: (answer) => {
    const externalId = textIn(answer["id"])
    return externalId === null ? null : { ...agentOf(answer), externalId }
  },
  look: (externalId) => [
    { call: { method: "GET", path: agentPath(externalId), body: null }, read: agentOf },
    { call: { method: "GET", path: `${agentPath(externalId)}/conversation`, body: null }, read: conversationOf }
  ],
  approve: null,
  message: (externalId, text) => ({ method: "POST", path: `${agentPath(externalId)}/followup`, body: { prompt: { text } } })
}
