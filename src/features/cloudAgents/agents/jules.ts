/** Google's Jules: https://jules.google/docs/api/reference (v1alpha sessions and their activities). */
import type { TaskActivity, TaskStatus } from "#src/features/cloudAgents/ports/CloudTask.ts"
import { activity, type Call, type CloudAgent, type Json, linkIn, listIn, objectIn, type Progress, resultOf, textIn } from "./CloudAgent.ts"

const statuses: ReadonlyMap<string, TaskStatus> = new Map([
  ["QUEUED", "queued"], ["PLANNING", "running"], ["IN_PROGRESS", "running"], ["PAUSED", "running"],
  ["AWAITING_USER_FEEDBACK", "awaiting_approval"], ["AWAITING_PLAN_APPROVAL", "awaiting_approval"], ["COMPLETED", "completed"], ["FAILED", "failed"]
])

/** `owner/name` of a GitHub repository. */
const repository = (url: string): string | null => /^https?:\/\/(?:www\.)?github\.com\/([\w.-]+\/[\w.-]+?)(?:\.git)?\/?$/.exec(url)?.[1] ?? null

const sessionPath = (externalId: string): string => `/v1alpha/sessions/${encodeURIComponent(externalId)}`

/** A page of activities, the oldest first. */
const activitiesAt = (externalId: string, page: string | null): Call =>
  ({ method: "GET", path: `${sessionPath(externalId)}/activities?pageSize=100${page === null ? "" : `&pageToken=${encodeURIComponent(page)}`}`, body: null })

const sessionOf = (answer: Json): Progress => {
  const status = statuses.get(textIn(answer["state"]) ?? "")
  const pullRequest = listIn(answer["outputs"]).map((output) => objectIn(output["pullRequest"])).find(({ url }) => linkIn(url) !== null)
  const result = pullRequest === undefined ? null : resultOf(pullRequest["url"], pullRequest["description"] ?? pullRequest["title"])
  const url = linkIn(answer["url"])
  return { ...status === undefined ? {} : { status }, ...result === null ? {} : { result }, ...url === null ? {} : { conversationUrl: url } }
}

const lines = (...texts: ReadonlyArray<unknown>): string => texts.flatMap((text) => textIn(text) ?? []).join("\n")

const activitiesOf = (one: Json): ReadonlyArray<TaskActivity> => {
  const at = one["createTime"]
  const id = textIn(one["id"]) ?? textIn(one["name"])
  const plan = listIn(objectIn(objectIn(one["planGenerated"])["plan"])["steps"])
  const progress = objectIn(one["progressUpdated"])
  const found: Array<TaskActivity> = []
  if (plan.length > 0) found.push(activity(id, "plan", plan.map(({ title }, index) => `${index + 1}. ${textIn(title) ?? ""}`).join("\n"), at))
  if (one["agentMessaged"] !== undefined) found.push(activity(id, "message", objectIn(one["agentMessaged"])["agentMessage"], at))
  if (one["userMessaged"] !== undefined) found.push(activity(id, "message", objectIn(one["userMessaged"])["userMessage"], at))
  if (one["progressUpdated"] !== undefined) found.push(activity(id, "message", lines(progress["title"], progress["description"]), at))
  if (one["sessionFailed"] !== undefined) found.push(activity(id, "error", objectIn(one["sessionFailed"])["reason"], at))
  if (one["sessionCompleted"] !== undefined) found.push(activity(id, "completion", "The session is complete.", at))
  for (const [index, artifact] of listIn(one["artifacts"]).entries()) {
    const bash = objectIn(artifact["bashOutput"])
    const patch = objectIn(objectIn(artifact["changeSet"])["gitPatch"])
    if (textIn(bash["command"]) !== null) found.push(activity(`${id ?? ""}.${index}`, "command", lines(bash["command"], bash["output"]), at))
    if (textIn(patch["unidiffPatch"]) !== null) found.push(activity(`${id ?? ""}.${index}`, "code_change", patch["unidiffPatch"], at))
  }
  return found
}

const failureIn = (activities: ReadonlyArray<TaskActivity>): string | null => activities.findLast(({ type }) => type === "error")?.content ?? null

export const jules: CloudAgent = {
  id: "jules",
  title: "Jules",
  baseUrl: "https://jules.googleapis.com",
  headers: (apiKey) => ["x-goog-api-key", apiKey],
  refusal: ({ source }) => repository(source.repoUrl) === null ? { field: "source.repoUrl", message: "Expected https://github.com/<owner>/<repository>: Jules works on GitHub only" } : null,
  start: ({ options, prompt, source }) => ({
    method: "POST", path: "/v1alpha/sessions",
    body: {
      prompt,
      sourceContext: { source: `sources/github/${repository(source.repoUrl) ?? ""}`, githubRepoContext: { startingBranch: source.branch ?? "main" } },
      requirePlanApproval: options.planApprovalRequired,
      ...options.autoCreatePr ? { automationMode: "AUTO_CREATE_PR" } : {}
    }
  }),
  taken: (answer) => {
    const externalId = textIn(answer["id"]) ?? textIn(answer["name"])?.replace(/^sessions\//, "") ?? null
    return externalId === null ? null : { ...sessionOf(answer), externalId }
  },
  look: (externalId) => [
    { call: { method: "GET", path: sessionPath(externalId), body: null }, read: sessionOf },
    {
      call: activitiesAt(externalId, null),
      read: (answer) => {
        const activities = listIn(answer["activities"]).flatMap(activitiesOf)
        const error = failureIn(activities)
        return { activities, ...error === null ? {} : { error } }
      },
      next: (answer) => {
        const page = textIn(answer["nextPageToken"])
        return page === null ? null : activitiesAt(externalId, page)
      }
    }
  ],
  approve: (externalId) => ({ method: "POST", path: `${sessionPath(externalId)}:approvePlan`, body: {} }),
  message: (externalId, text) => ({ method: "POST", path: `${sessionPath(externalId)}:sendMessage`, body: { prompt: text } })
}
