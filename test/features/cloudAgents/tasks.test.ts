/** What answers of cloud agents make of a task, whatever they hold. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { agents } from "#src/features/cloudAgents/agents/all.ts"
import { ACTIVITIES_MAX } from "#src/features/cloudAgents/agents/CloudAgent.ts"
import { advanced, lost } from "#src/features/cloudAgents/CloudAgents.ts"
import { CloudTask } from "#src/features/cloudAgents/ports/CloudTask.ts"

const time = "2026-01-01T00:00:00.000Z"
const task: CloudTask = {
  id: "t", providerId: "jules", externalId: "e", status: "running", prompt: "p", source: { repoName: "o/r", repoUrl: "https://github.com/o/r" },
  options: { autoCreatePr: false, planApprovalRequired: false }, result: null, activities: [], error: null, conversationUrl: null, createdAt: time, updatedAt: time, completedAt: null
}
const isTask = Schema.is(CloudTask)
const json = Arbitrary.schema(Schema.Json)

describe("a task of a cloud agent", () => {
  it.prop("stays a record that can be stored, whatever an agent answers", { json }, ({ json }) => {
    const answer = {
      state: json, status: json, status_enum: "blocked", id: json, name: json, session_id: json, url: json, outputs: [{ pullRequest: json }, json], pull_request: json, target: json,
      messages: [json, { message: json, text: json, timestamp: json }], activities: [json, { planGenerated: json, progressUpdated: json, artifacts: json, sessionFailed: json }]
    }
    for (const agent of Object.values(agents)) {
      agent.taken(answer)
      for (const { read } of agent.look("a/b")) assert.isTrue(isTask(advanced(task, read(answer), time)))
    }
  })

  it("a status that is the name of every object's member says nothing", () => {
    for (const name of ["toString", "constructor", "__proto__", "hasOwnProperty"]) {
      for (const agent of Object.values(agents)) {
        assert.strictEqual(advanced(task, agent.look("1")[0]?.read({ state: name, status: name, status_enum: name }) ?? {}, time), task)
      }
    }
  })

  it("keeps the last activities, and the first characters of each", () => {
    const answer = { activities: Array.from({ length: ACTIVITIES_MAX + 5 }, (_, index) => ({ id: `${index}`, agentMessaged: { agentMessage: "x".repeat(10_001) } })) }
    const { activities } = advanced(task, agents.jules.look("1")[1]?.read(answer) ?? {}, time)
    assert.strictEqual(activities.length, 200)
    assert.strictEqual(activities[0]?.id, "5")
    assert.strictEqual(activities[0]?.content.length, 10_000)
  })

  it("ids of agents cannot leave their path", () => {
    for (const [id, path] of [["jules", "/v1alpha/sessions/a%2F..%2Fb"], ["devin", "/v1/sessions/a%2F..%2Fb"], ["cursor", "/v0/agents/a%2F..%2Fb"]] as const) {
      assert.strictEqual(agents[id].look("a/../b")[0]?.call.path, path)
    }
  })

  it("changes its time only with something else, and always forwards", () => {
    assert.strictEqual(advanced(task, { status: "running" }, "2026-01-02T00:00:00.000Z"), task)
    assert.strictEqual(advanced(task, { status: "completed" }, "2025-01-01T00:00:00.000Z").updatedAt, "2026-01-01T00:00:00.001Z")
    const failed = advanced(task, { status: "failed" }, "2026-01-02T00:00:00.000Z")
    assert.deepStrictEqual([failed.error, failed.completedAt, failed.updatedAt], ["The agent failed.", "2026-01-02T00:00:00.000Z", "2026-01-02T00:00:00.000Z"])
    assert.deepStrictEqual(advanced(failed, { status: "running" }, "2026-01-03T00:00:00.000Z"), { ...task, updatedAt: "2026-01-03T00:00:00.000Z" })
  })

  it("that no agent confirmed within two minutes was lost", () => {
    const at = Date.parse(time)
    assert.isNull(lost({ externalId: null, createdAt: time }, at + 119_999))
    assert.strictEqual(lost({ externalId: null, createdAt: time }, at + 120_000)?.status, "failed")
    assert.isNull(lost({ externalId: "e", createdAt: time }, at + 999_999))
  })
})
