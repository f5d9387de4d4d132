/** A gateway that is killed while a skill runs: the sandbox ends with it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import type { SkillExecution } from "#src/features/skills/ports/Skill.ts"
import { sandboxesOf } from "#test/features/skills/lab.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import { eventually } from "#test/support/operator.ts"

let gateway: Spawned
beforeAll(async () => {
  gateway = await spawned({ environment: { GATEWAY_SKILLS: "on", GATEWAY_SKILLS_TIMEOUT_MS: "300000" } })
})
afterAll(() => gateway.close())

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it("no sandbox outlives a gateway that is killed", { timeout: 240_000 }, async () => {
  const { operator } = gateway
  const { id: apiKeyId } = await operator.createKey("skills")
  await operator.call("POST", "/api/skills/install", { name: "endless", handlerCode: "for (;;);" })
  const asked = operator.raw("POST", "/api/skills/executions", { apiKeyId, skillName: "endless" }).catch(() => null)
  const history = async () => (await operator.call<{ executions: ReadonlyArray<SkillExecution> }>("GET", "/api/skills/executions")).executions
  await eventually(history, ([one]) => one?.status === "running", "an execution")
  const [sandbox = 0] = sandboxesOf(gateway.pid())
  expect(isThere(sandbox)).toBe(true)
  await gateway.kill9()
  await asked
  await eventually(async () => isThere(sandbox), (there) => !there, "the end of the sandbox")
  await gateway.start()
  await operator.login()
  // Its time is not over yet: another node could run it.
  expect((await history()).map(({ status }) => status)).toEqual(["running"])
})
