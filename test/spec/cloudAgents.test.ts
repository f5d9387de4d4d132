/** Tasks of cloud agents over the management API, with local twins of their vendors. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import * as CloudVendors from "#test/support/cloudVendors.ts"

const TASKS = "/api/v1/agents/tasks"
const CREDENTIALS = "/api/v1/agents/credentials"
const SECRET = "canary-cloud-agent-key"

interface Task {
  readonly id: string
  readonly status: string
  readonly external_id: string | null
  readonly [field: string]: unknown
}

let lab: Lab
let vendors: CloudVendors.CloudVendors
beforeAll(async () => {
  lab = await startLab()
  vendors = await CloudVendors.start()
})
afterAll(async () => {
  await vendors.close()
  await lab.close()
})
beforeEach(async () => {
  for (const providerId of ["jules", "devin", "cursor"]) await call("PUT", CREDENTIALS, { providerId, apiKey: SECRET, baseUrl: vendors.url })
})
afterEach(async () => {
  for (const { id } of (await call<{ data: ReadonlyArray<Task> }>("GET", `${TASKS}?limit=500`)).data) await call("DELETE", `${TASKS}?id=${id}`)
  vendors.heard.length = 0
  vendors.answers.clear()
})

const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const raw = (method: string, path: string, body?: unknown) => lab.gateway.operator.raw(method, path, body)
const source = { repoName: "o/r", repoUrl: "https://github.com/o/r", branch: "dev" }
const order = (providerId: string, over: Record<string, unknown> = {}) => ({ providerId, prompt: "Fix the flaky test.", source, ...over })
const create = async (providerId: string, over: Record<string, unknown> = {}) => (await call<{ data: { task: Task } }>("POST", TASKS, order(providerId, over))).data.task
const read = async (id: string) => (await call<{ data: { task: Task } }>("GET", `${TASKS}/${id}`)).data.task
const act = async (id: string, body: unknown) => (await call<{ data: { task: Task } }>("POST", `${TASKS}/${id}`, body)).data.task
const refused = async (method: string, path: string, body?: unknown) => {
  const answer = await raw(method, path, body)
  const { error } = JSON.parse(answer.text) as { error: { message: string; code: string; details?: ReadonlyArray<{ field: string }> } }
  return [answer.status, error.code, error.details?.[0]?.field ?? error.message]
}

describe("Jules", () => {
  it("plans, waits for an approval, hears a message, and ends with a pull request", async () => {
    vendors.answers.set("POST /v1alpha/sessions", [200, { name: "sessions/31", id: "31", state: "QUEUED", url: "https://jules.google.com/session/31" }])
    const task = await create("jules", { options: { autoCreatePr: true, planApprovalRequired: true } })
    expect(task).toMatchObject({
      providerId: "jules", status: "queued", external_id: "31", conversation_url: "https://jules.google.com/session/31", prompt: "Fix the flaky test.", source,
      options: { autoCreatePr: true, planApprovalRequired: true }, result: null, activities: [], error: null, completedAt: null
    })
    expect(vendors.heard).toEqual([{
      method: "POST", path: "/v1alpha/sessions", credential: SECRET,
      body: {
        prompt: "Fix the flaky test.", sourceContext: { source: "sources/github/o/r", githubRepoContext: { startingBranch: "dev" } },
        requirePlanApproval: true, automationMode: "AUTO_CREATE_PR"
      }
    }])

    const plan = { id: "a1", createTime: "2026-11-01T10:00:00Z", planGenerated: { plan: { steps: [{ title: "Read" }, { title: "Mend" }] } } }
    vendors.answers.set("GET /v1alpha/sessions/31", [200, { id: "31", state: "AWAITING_PLAN_APPROVAL" }])
    vendors.answers.set("GET /v1alpha/sessions/31/activities?pageSize=100", [200, { activities: [plan] }])
    expect(await read(task.id)).toMatchObject({
      status: "awaiting_approval", activities: [{ id: "a1", type: "plan", content: "1. Read\n2. Mend", timestamp: "2026-11-01T10:00:00.000Z", metadata: {} }]
    })

    vendors.answers.set("POST /v1alpha/sessions/31:approvePlan", [200, {}])
    expect(await act(task.id, { action: "approve" })).toMatchObject({ status: "running" })
    expect(await refused("POST", `${TASKS}/${task.id}`, { action: "approve" })).toEqual([400, "wrong_state", "The task is running: it cannot be approved"])
    vendors.answers.set("POST /v1alpha/sessions/31:sendMessage", [200, ""])
    await act(task.id, { action: "message", message: "Keep the name." })
    expect(vendors.heard.slice(-1)).toEqual([{ method: "POST", path: "/v1alpha/sessions/31:sendMessage", credential: SECRET, body: { prompt: "Keep the name." } }])

    const work = [
      plan, { id: "a2", createTime: "2026-11-01T10:01:00Z", artifacts: [{ bashOutput: { command: "npm test", output: "1 failed" } }, { changeSet: { gitPatch: { unidiffPatch: "+ok" } } }] },
      { id: "a3", createTime: "2026-11-01T10:02:00Z", sessionCompleted: {} }
    ]
    vendors.answers.set("GET /v1alpha/sessions/31", [200, { state: "COMPLETED", outputs: [{ pullRequest: { url: "https://github.com/o/r/pull/7", title: "t", description: "Mended." } }] }])
    vendors.answers.set("GET /v1alpha/sessions/31/activities?pageSize=100", [200, { activities: work }])
    const done = await read(task.id)
    expect(done).toMatchObject({ status: "completed", result: { prUrl: "https://github.com/o/r/pull/7", prNumber: 7, summary: "Mended." }, error: null })
    expect(done["completedAt"]).toBe(done["updatedAt"])
    expect((done["activities"] as ReadonlyArray<Record<string, string>>).map(({ content, id, type }) => [id, type, content])).toEqual([
      ["a1", "plan", "1. Read\n2. Mend"], ["a2.0", "command", "npm test\n1 failed"], ["a2.1", "code_change", "+ok"], ["a3", "completion", "The session is complete."]
    ])
    vendors.heard.length = 0
    expect(await read(task.id)).toEqual(done)
    expect(vendors.heard).toEqual([])
  })

  it("a long list of activities is read to its end, and the newest are kept", async () => {
    vendors.answers.set("POST /v1alpha/sessions", [200, { id: "33", state: "IN_PROGRESS" }])
    const { id } = await create("jules")
    const page = (from: number, nextPageToken?: string) => [200, {
      activities: Array.from({ length: 100 }, (_, at) => ({ id: `a${from + at}`, agentMessaged: { agentMessage: "." } })), ...nextPageToken === undefined ? {} : { nextPageToken }
    }] as const
    vendors.answers.set("GET /v1alpha/sessions/33", [200, { state: "FAILED" }])
    vendors.answers.set("GET /v1alpha/sessions/33/activities?pageSize=100", page(0, "to/2"))
    vendors.answers.set("GET /v1alpha/sessions/33/activities?pageSize=100&pageToken=to%2F2", page(100, "3"))
    vendors.answers.set("GET /v1alpha/sessions/33/activities?pageSize=100&pageToken=3", [200, { activities: [{ id: "end", sessionFailed: { reason: "Out of disk." } }] }])
    const task = await read(id)
    expect(task).toMatchObject({ status: "failed", error: "Out of disk." })
    const ids = (task["activities"] as ReadonlyArray<Record<string, string>>).map((one) => one["id"])
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([200, "a1", "end"])
  })

  it("a failure has its reason; a repository elsewhere is refused before anything is sent", async () => {
    vendors.answers.set("POST /v1alpha/sessions", [200, { id: "32", state: "QUEUED" }])
    const { id } = await create("jules")
    vendors.answers.set("GET /v1alpha/sessions/32", [200, { state: "FAILED" }])
    vendors.answers.set("GET /v1alpha/sessions/32/activities?pageSize=100", [200, { activities: [{ id: "x", sessionFailed: { reason: "The branch is gone." } }] }])
    expect(await read(id)).toMatchObject({ status: "failed", error: "The branch is gone.", activities: [{ type: "error", timestamp: null }] })
    vendors.heard.length = 0
    expect(await refused("POST", TASKS, order("jules", { source: { ...source, repoUrl: "https://gitlab.com/o/r" } }))).toEqual([400, "bad_request", "source.repoUrl"])
    expect(vendors.heard).toEqual([])
  })
})

describe("Devin", () => {
  it("is told the repository in its prompt, waits for words, and goes on", async () => {
    vendors.answers.set("POST /v1/sessions", [200, { session_id: "devin-9", url: "https://app.devin.ai/sessions/9" }])
    const task = await create("devin", { options: { autoCreatePr: true } })
    expect(task).toMatchObject({ status: "running", external_id: "devin-9", conversation_url: "https://app.devin.ai/sessions/9" })
    expect(vendors.heard[0]).toEqual({
      method: "POST", path: "/v1/sessions", credential: `Bearer ${SECRET}`,
      body: { title: "Fix the flaky test.", prompt: "Fix the flaky test.\n\nRepository: https://github.com/o/r\nBranch: dev\nOpen a pull request with your changes." }
    })
    vendors.answers.set("GET /v1/sessions/devin-9", [200, {
      status_enum: "blocked", pull_request: { url: "https://github.com/o/r/pull/12" },
      messages: [{ type: "user_message", event_id: "e1", message: "Fix", timestamp: "2026-11-01T00:00:00+00:00" }, { type: "devin_message", event_id: "e2", message: "Merge it?", timestamp: "2026-11-01T00:01:00+00:00" }]
    }])
    expect(await read(task.id)).toMatchObject({
      status: "awaiting_approval", result: { prUrl: "https://github.com/o/r/pull/12", prNumber: 12, summary: "Merge it?" },
      activities: [{ id: "e1", type: "message", content: "Fix" }, { id: "e2", content: "Merge it?", timestamp: "2026-11-01T00:01:00.000Z" }]
    })
    expect(await refused("POST", `${TASKS}/${task.id}`, { action: "approve" })).toEqual([400, "wrong_state", "Devin has no plans to approve: send a message"])
    vendors.answers.set("POST /v1/sessions/devin-9/message", [200, { detail: null }])
    expect(await act(task.id, { action: "message", message: "Yes." })).toMatchObject({ status: "running" })
    expect(vendors.heard.at(-1)).toMatchObject({ path: "/v1/sessions/devin-9/message", body: { message: "Yes." } })
    vendors.answers.set("GET /v1/sessions/devin-9", [200, { status_enum: "expired" }])
    expect(await read(task.id)).toMatchObject({ status: "failed", error: "The session expired at Devin.", activities: [{ id: "e1" }, { id: "e2" }] })
    expect(await refused("POST", `${TASKS}/${task.id}`, { action: "message", message: "Still there?" })).toEqual([400, "wrong_state", "The task is failed: it cannot be written to"])
  })

  it("has no plans to approve, so that a task that wants one is refused", async () => {
    expect(await refused("POST", TASKS, order("devin", { options: { planApprovalRequired: true } }))).toEqual([400, "bad_request", "options.planApprovalRequired"])
    expect(await refused("POST", TASKS, order("cursor", { options: { planApprovalRequired: true } }))).toEqual([400, "bad_request", "options.planApprovalRequired"])
    expect(await refused("POST", TASKS, order("devin", { options: { environment: "big" } }))).toEqual([400, "not_supported_yet", "options.environment"])
    expect(vendors.heard).toEqual([])
  })
})

describe("Cursor", () => {
  it("runs, and ends with a summary and the conversation", async () => {
    vendors.answers.set("POST /v0/agents", [200, { id: "bc_1", status: "CREATING", target: { url: "https://cursor.com/agents?id=bc_1" } }])
    const task = await create("cursor")
    expect(task).toMatchObject({ status: "queued", external_id: "bc_1", conversation_url: "https://cursor.com/agents?id=bc_1" })
    expect(vendors.heard[0]).toEqual({
      method: "POST", path: "/v0/agents", credential: `Bearer ${SECRET}`,
      body: { prompt: { text: "Fix the flaky test." }, source: { repository: "https://github.com/o/r", ref: "dev" }, target: { autoCreatePr: false } }
    })
    vendors.answers.set("GET /v0/agents/bc_1", [200, { status: "FINISHED", summary: "Waited for the server.", target: { prUrl: "javascript:alert(1)" } }])
    vendors.answers.set("GET /v0/agents/bc_1/conversation", [200, { messages: [{ id: "m", type: "assistant_message", text: "Done." }] }])
    expect(await read(task.id)).toMatchObject({
      status: "completed", result: { prUrl: null, prNumber: null, summary: "Waited for the server." },
      activities: [{ id: "m", type: "message", content: "Done.", timestamp: null }]
    })
    vendors.answers.set("POST /v0/agents/bc_1/followup", [200, { id: "bc_1" }])
    expect(await act(task.id, { action: "message", message: "Add a test." })).toMatchObject({ status: "running", completedAt: null })
  })
})

describe("a task", () => {
  it("that its agent refuses is kept as failed, and the caller is told why, without the credential", async () => {
    vendors.answers.set("POST /v0/agents", [401, { error: "Invalid API key" }])
    expect(await refused("POST", TASKS, order("cursor"))).toEqual([502, "upstream_error", "Cursor answered 401: Invalid API key"])
    vendors.answers.set("POST /v1/sessions", [200, { nothing: true }])
    expect(await refused("POST", TASKS, order("devin"))).toEqual([502, "upstream_error", "Devin's answer names no task"])
    const { data } = await call<{ data: ReadonlyArray<Task> }>("GET", TASKS)
    expect(data.map(({ error, providerId, status }) => [providerId, status, error])).toEqual([
      ["devin", "failed", "Devin's answer names no task"], ["cursor", "failed", "Cursor answered 401: Invalid API key"]
    ])
    expect(JSON.stringify(data)).not.toContain(SECRET)
  })

  it("stays as it was last seen while its agent cannot be asked", async () => {
    vendors.answers.set("POST /v0/agents", [200, { id: "bc_2", status: "RUNNING" }])
    const task = await create("cursor")
    vendors.answers.set("GET /v0/agents/bc_2", [503, "busy"])
    expect(await read(task.id)).toEqual(task)
  })

  it("that is cancelled here is asked no more; its agent is not told", async () => {
    vendors.answers.set("POST /v0/agents", [200, { id: "bc_3", status: "RUNNING" }])
    const { id } = await create("cursor")
    vendors.heard.length = 0
    expect(await act(id, { action: "cancel" })).toMatchObject({ status: "cancelled", error: null })
    expect(await read(id)).toMatchObject({ status: "cancelled" })
    expect(await refused("POST", `${TASKS}/${id}`, { action: "cancel" })).toEqual([400, "wrong_state", "The task is cancelled: it cannot be cancelled"])
    expect(vendors.heard).toEqual([])
  })

  it("whose caller leaves while its agent takes it keeps the agent's id, and is audited", async () => {
    const { key } = await lab.gateway.operator.createKey("leaver", { scopes: ["manage"] })
    const held = vendors.hold("POST /v0/agents", [200, { id: "bc_6", status: "RUNNING" }])
    const leaving = new AbortController()
    const creating = fetch(`${lab.gateway.url}${TASKS}`, {
      method: "POST", signal: leaving.signal, headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }, body: JSON.stringify(order("cursor"))
    })
    await held.asked
    leaving.abort()
    await expect(creating).rejects.toThrow()
    const tasks = async () => (await call<{ data: ReadonlyArray<Task> }>("GET", TASKS)).data
    expect(await tasks()).toMatchObject([{ status: "queued", external_id: null }])
    held.answer()
    const [taken] = await eventually(tasks, ([newest]) => newest?.external_id === "bc_6", "the task that was taken")
    const audited = async () => (await raw("GET", "/api/compliance/audit-log?limit=20")).text
    expect(await eventually(audited, (text) => text.includes(`"${taken?.id}"`), "its entry")).toContain("cloud_task.created")
  })

  it("that is cancelled while its agent takes it keeps the agent's id", async () => {
    const held = vendors.hold("POST /v0/agents", [200, { id: "bc_5", status: "RUNNING", target: { url: "https://cursor.com/agents?id=bc_5" } }])
    const creating = raw("POST", TASKS, order("cursor"))
    await held.asked
    const [given] = (await call<{ data: ReadonlyArray<Task> }>("GET", TASKS)).data
    expect(given).toMatchObject({ status: "queued", external_id: null })
    await act(given?.id ?? "", { action: "cancel" })
    held.answer()
    const { data } = JSON.parse((await creating).text) as { data: { task: Task } }
    expect(data.task).toMatchObject({ status: "cancelled", external_id: "bc_5", conversation_url: "https://cursor.com/agents?id=bc_5" })
    expect(await read(data.task.id)).toEqual(data.task)
  })

  it("is listed by agent and status, and forgotten", async () => {
    vendors.answers.set("POST /v0/agents", [200, { id: "bc_4", status: "RUNNING" }])
    vendors.answers.set("POST /v1/sessions", [200, { session_id: "d" }])
    const first = await create("cursor")
    const second = await create("devin")
    const ids = async (query: string) => (await call<{ data: ReadonlyArray<Task> }>("GET", `${TASKS}${query}`)).data.map(({ id }) => id)
    expect(await ids("")).toEqual([second.id, first.id])
    expect(await ids("?limit=1")).toEqual([second.id])
    expect(await ids("?provider=cursor")).toEqual([first.id])
    expect(await ids("?status=completed")).toEqual([])
    expect(await call("DELETE", `${TASKS}/${first.id}`)).toEqual({ success: true })
    expect(await refused("GET", `${TASKS}/${first.id}`)).toEqual([404, "not_found", "Task not found"])
    expect(await refused("DELETE", `${TASKS}?id=${first.id}`)).toEqual([404, "not_found", "Task not found"])
  })

  it("needs a known agent, a prompt and a repository; limits are checked", async () => {
    for (const [body, field] of [
      [order("codex"), "providerId"], [order("devin", { prompt: "" }), "prompt"], [order("devin", { prompt: "x".repeat(10_001) }), "prompt"], [order("devin", { source: { repoName: "x" } }), "source.repoUrl"]
    ] as const) expect(await refused("POST", TASKS, body)).toEqual([400, "bad_request", field])
    expect(await refused("GET", `${TASKS}?limit=501`)).toEqual([400, "bad_request", "limit"])
    expect(await refused("POST", `${TASKS}/none`, { action: "message" })).toEqual([400, "bad_request", "message"])
    expect(await refused("POST", `${TASKS}/none`, { action: "cancel" })).toEqual([404, "not_found", "Task not found"])
  })
})

describe("credentials", () => {
  it("are masked, go, and are then missed by name", async () => {
    const { credentials } = await call<{ credentials: ReadonlyArray<Record<string, unknown>> }>("GET", CREDENTIALS)
    expect(credentials[0]).toEqual({ providerId: "jules", name: "Jules", configured: true, apiKey: "canary...", baseUrl: vendors.url })
    expect(await call("DELETE", `${CREDENTIALS}?providerId=jules`)).toEqual({ success: true })
    expect(await refused("DELETE", `${CREDENTIALS}?providerId=jules`)).toEqual([404, "not_found", "Jules has no API key"])
    expect((await call<{ credentials: ReadonlyArray<unknown> }>("GET", CREDENTIALS)).credentials[0]).toEqual(
      { providerId: "jules", name: "Jules", configured: false, apiKey: null, baseUrl: "https://jules.googleapis.com" }
    )
    expect(await refused("POST", TASKS, order("jules"))).toEqual([400, "agent_credentials_missing", "Jules has no API key: store one by PUT /api/v1/agents/credentials"])
    expect(await refused("PUT", CREDENTIALS, { providerId: "jules", apiKey: "k", baseUrl: "http://169.254.169.254" })).toEqual([400, "bad_request", "baseUrl"])
    expect(await refused("PUT", CREDENTIALS, { providerId: "jules", apiKey: "k", baseUrl: `${vendors.url}/?x=1` })).toEqual([400, "bad_request", "baseUrl"])
    expect((await raw("GET", "/api/settings")).text).not.toContain(SECRET)
  })
})
