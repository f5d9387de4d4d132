/** The agent-to-agent server with the official client, versions 1.0 and 0.3: send, stream, read, cancel, follow, and push. */
import { TaskState } from "@a2a-js/sdk"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "#test/support/operator.ts"
import { startSink } from "#test/support/sink.ts"
import { type A2aLab, all, atOnce, clientOf, message, startA2a, taskIn, textIn } from "./lab.ts"

let lab: A2aLab
let key: { readonly id: string; readonly key: string }
let other: string

beforeAll(async () => {
  lab = await startA2a()
  key = await lab.gateway.operator.createKey("agent")
  other = (await lab.gateway.operator.createKey("another agent")).key
})
afterAll(() => lab.close())

const idle = () => eventually(() => lab.gateway.operator.reconciliation(), ({ live }) => live === 0, "the end of all calls")

describe.each(["1.0", "0.3"] as const)("version %s", (version) => {
  const client = (token = key.key) => clientOf(lab.gateway.url, token, version)
  const name = (word: string) => `${word}-${version.replace(".", "")}`

  it("a message is answered through the caller's own request: text, cost, and a row of the ledger", async () => {
    await lab.sim.rule({ match: { model: name("plain") }, script: { text: "The routed answer." } })
    const task = taskIn(await (await client()).sendMessage(message("Route this", { model: `lab/${name("plain")}` }, { configuration: { acceptedOutputModes: ["text/plain"], taskPushNotificationConfig: undefined, returnImmediately: false } })))
    expect([task.status?.state, textIn(task)]).toEqual([TaskState.TASK_STATE_COMPLETED, "The routed answer."])
    expect(task.metadata).toMatchObject({
      skill: "smart-routing", routing_explanation: expect.stringContaining(`lab/${name("plain")}`), policy_verdict: { allowed: true },
      cost_envelope: { currency: "USD", estimated: 0, actual: 0 }, resilience_trace: [{ event: "answered", provider: "lab" }]
    })
    expect(task.history.map(({ parts }) => parts[0]?.content)).toEqual([{ $case: "text", value: "Route this" }])
    const rows = await lab.gateway.rows(task.id)
    expect(rows.map(({ apiKeyId, endpoint, outcome }) => [apiKeyId, endpoint, outcome])).toEqual([[key.id, "/v1/chat/completions", "completed"]])
  })

  it("a stream begins with the task, brings its text in pieces, and ends with its state", async () => {
    const text = "One two three four five six seven eight nine ten."
    await lab.sim.rule({ match: { model: name("streamed") }, script: { text, paceMs: 20 } })
    const seen = await all((await client()).sendMessageStream(message("Stream this", { model: `lab/${name("streamed")}` })))
    expect(seen[0]?.$case).toBe("task")
    const pieces = seen.flatMap((event) => event.$case === "artifactUpdate" ? [event.value] : [])
    expect(pieces.length).toBeGreaterThan(2)
    expect(pieces.map((piece) => textIn({ artifacts: piece.artifact === undefined ? [] : [piece.artifact] })).join("")).toBe(text)
    expect(pieces.map(({ append }) => append)).toEqual([false, ...pieces.slice(1).map(() => true)])
    const states = seen.flatMap((event) => event.$case === "statusUpdate" ? [event.value.status?.state] : [])
    expect(states.at(-1)).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(seen.at(-1)?.$case).toBe("statusUpdate")
  })

  it("a task is read by its own key alone", async () => {
    await lab.sim.rule({ match: { model: name("owned") }, script: { text: "Mine." } })
    const begun = taskIn(await (await client()).sendMessage(message("Keep this", { model: `lab/${name("owned")}` }, atOnce)))
    const mine = await eventually(async () => (await client()).getTask({ tenant: "", id: begun.id, historyLength: undefined }), ({ status }) => status?.state === TaskState.TASK_STATE_COMPLETED, "the task's end")
    expect(textIn(mine)).toBe("Mine.")
    const stranger = await client(other)
    await expect(stranger.getTask({ tenant: "", id: begun.id, historyLength: undefined })).rejects.toThrow(/not found/i)
    await expect(stranger.cancelTask({ tenant: "", id: begun.id, metadata: undefined })).rejects.toThrow(/not found/i)
    await expect(all(stranger.resubscribeTask({ tenant: "", id: begun.id }))).rejects.toThrow(/not found/i)
    await expect((await client()).getTask({ tenant: "", id: "no-such-task", historyLength: undefined })).rejects.toThrow(/not found/i)
  })

  it("a cancelled task ends its upstream call, and cannot be cancelled again", async () => {
    await lab.sim.rule({ match: { model: name("endless") }, script: { text: "word ".repeat(2_000), paceMs: 50 } })
    const begun = taskIn(await (await client()).sendMessage(message("Go on", { model: `lab/${name("endless")}` }, atOnce)))
    await eventually(() => lab.gateway.operator.reconciliation(), ({ live }) => live === 1, "the call's start")
    const ended = await (await client()).cancelTask({ tenant: "", id: begun.id, metadata: undefined })
    expect(ended.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    await idle()
    await expect((await client()).cancelTask({ tenant: "", id: begun.id, metadata: undefined })).rejects.toThrow(/ended/)
    await expect(all((await client()).resubscribeTask({ tenant: "", id: begun.id }))).rejects.toThrow(/ended/)
  })

  it("a stream whose client left is followed again to its end", async () => {
    const text = "word ".repeat(40).trim()
    await lab.sim.rule({ match: { model: name("followed") }, script: { text, paceMs: 40 } })
    const stream = (await client()).sendMessageStream(message("Say much", { model: `lab/${name("followed")}` }))
    const first = await stream.next()
    const id = first.done === true || first.value.payload?.$case !== "task" ? "" : first.value.payload.value.id
    await stream.return()
    const seen = await all((await client()).resubscribeTask({ tenant: "", id }))
    expect(seen[0]?.$case).toBe("task")
    const last = await (await client()).getTask({ tenant: "", id, historyLength: 0 })
    expect([last.status?.state, textIn(last), last.history]).toEqual([TaskState.TASK_STATE_COMPLETED, text, []])
  })

  it("a receiver hears of the task's states with its token; its address is kept sealed and can be read and removed", async () => {
    const sink = await startSink()
    await lab.gateway.operator.setFlag("OUTBOUND_SSRF_GUARD_ENABLED", "false")
    try {
      await lab.sim.rule({ match: { model: name("pushed") }, script: { text: "Told.", latencyMs: 300 } })
      const config = { tenant: "", id: "", taskId: "", url: `${sink.url}/push`, token: "canary-push-token", authentication: undefined }
      const own = await client()
      const begun = taskIn(await own.sendMessage(message("Tell me", { model: `lab/${name("pushed")}` }, { configuration: { acceptedOutputModes: [], taskPushNotificationConfig: config, returnImmediately: true } })))
      await sink.arrived(2)
      expect(sink.received.every(({ headers, path }) => path === "/push" && headers["x-a2a-notification-token"] === "canary-push-token")).toBe(true)
      const bodies = sink.received.map(({ json }) => JSON.stringify(json))
      expect(bodies[0]).toMatch(/working/i)
      expect(bodies.at(-1)).toMatch(/completed/i)
      expect(bodies.at(-1)).toContain("Told.")
      expect((await own.listTaskPushNotificationConfig({ tenant: "", taskId: begun.id, pageSize: 0, pageToken: "" })).configs.map(({ url }) => url)).toEqual([config.url])
      const second = await own.createTaskPushNotificationConfig({ ...config, taskId: begun.id, id: "second", token: "", authentication: { scheme: "Bearer", credentials: "canary-push-secret" } })
      expect(second.id).toBe("second")
      expect((await own.getTaskPushNotificationConfig({ tenant: "", taskId: begun.id, id: "second" })).url).toBe(config.url)
      await expect((await client(other)).getTaskPushNotificationConfig({ tenant: "", taskId: begun.id, id: "second" })).rejects.toThrow(/not found/i)
      await own.deleteTaskPushNotificationConfig({ tenant: "", taskId: begun.id, id: "second" })
      await expect(own.getTaskPushNotificationConfig({ tenant: "", taskId: begun.id, id: "second" })).rejects.toThrow(/not found/i)
      expect(lab.gateway.output()).not.toContain("canary-push")
    } finally {
      await lab.gateway.operator.setFlag("OUTBOUND_SSRF_GUARD_ENABLED", "true")
      await sink.close()
    }
  })

  it("a receiver at a forbidden address is refused before a task begins", async () => {
    const before = await (await clientOf(lab.gateway.url, key.key)).listTasks(page)
    const config = { tenant: "", id: "", taskId: "", url: "http://169.254.169.254/latest", token: "", authentication: undefined }
    await expect((await client()).sendMessage(message("Tell", {}, { configuration: { acceptedOutputModes: [], taskPushNotificationConfig: config, returnImmediately: true } }))).rejects.toThrow(/url/)
    expect((await (await clientOf(lab.gateway.url, key.key)).listTasks(page)).totalSize).toBe(before.totalSize)
  })

  it("files, unknown skills and messages for a task that has ended are refused", async () => {
    const own = await client()
    const file = message("x")
    file.message!.parts = [{ content: { $case: "url", value: "https://example.com/a.png" }, metadata: undefined, filename: "a.png", mediaType: "image/png" }]
    await expect(own.sendMessage(file)).rejects.toThrow(/files/)
    await expect(own.sendMessage(message("x", { skill: "no-such-skill" }))).rejects.toThrow(/no-such-skill/)
    const done = taskIn(await own.sendMessage(message("x", { skill: "health-report" }, { configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false } })))
    expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    const again = message("more")
    again.message!.taskId = done.id
    await expect(own.sendMessage(again)).rejects.toThrow(/ended/)
  })
})

const page = { tenant: "", contextId: "", status: 0, pageToken: "", statusTimestampAfter: undefined } as const

describe("lists of version 1.0", () => {
  it("hold the caller's own tasks, a page at a time", async () => {
    const own = (await lab.gateway.operator.createKey("lister")).key
    const client = await clientOf(lab.gateway.url, own)
    const ids = new Array<string>()
    for (let i = 0; i < 3; i++) ids.push(taskIn(await client.sendMessage(message(`Report ${i}`, { skill: "health-report" }))).id)
    const first = await client.listTasks({ ...page, pageSize: 2 })
    expect([first.totalSize, first.tasks.map(({ id }) => id), first.tasks[0]?.artifacts]).toEqual([3, [ids[2], ids[1]], []])
    const second = await client.listTasks({ ...page, pageSize: 2, pageToken: first.nextPageToken, includeArtifacts: true })
    expect([second.tasks.map(({ id }) => id), second.nextPageToken]).toEqual([[ids[0]], ""])
    expect(textIn(second.tasks[0]!)).toContain("The gateway is")
    await expect(client.listTasks({ ...page, pageToken: "nonsense" })).rejects.toThrow(/pageToken/)
    expect((await client.listTasks({ ...page, status: TaskState.TASK_STATE_REJECTED })).tasks).toEqual([])
  })
})
