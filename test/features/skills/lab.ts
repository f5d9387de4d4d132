/** A gateway that runs skills, and what its machine shows of their sandboxes. */
import * as fs from "node:fs"
import type { SkillExecution } from "#src/features/skills/ports/Skill.ts"
import { type InProcess, inProcess } from "#test/support/gateway.ts"

export interface SkillsLab {
  readonly gateway: InProcess
  /** Of a key that executions are made for. */
  readonly apiKeyId: string
  readonly install: (fields: Record<string, unknown>) => Promise<string>
  readonly ask: (body: Record<string, unknown>) => Promise<{ readonly status: number; readonly text: string }>
  readonly execute: (skillName: string, input?: unknown) => Promise<SkillExecution>
  /** Installs a handler under a name of its own, and runs it once. */
  readonly run: (handlerCode: string, input?: unknown) => Promise<SkillExecution>
  readonly history: () => Promise<ReadonlyArray<SkillExecution>>
  readonly close: () => Promise<void>
}

export const startSkills = async (environment: Readonly<Record<string, string>> = {}): Promise<SkillsLab> => {
  const gateway = await inProcess({ environment: { GATEWAY_SKILLS: "on", ...environment } })
  const { operator } = gateway
  const { id: apiKeyId } = await operator.createKey("skills")
  let made = 0
  const install = async (fields: Record<string, unknown>) => (await operator.call<{ id: string }>("POST", "/api/skills/install", fields)).id
  const ask = (body: Record<string, unknown>) => operator.raw("POST", "/api/skills/executions", { apiKeyId, ...body })
  const execute = async (skillName: string, input?: unknown) => {
    const reply = await ask({ skillName, ...(input === undefined ? {} : { input }) })
    if (reply.status !== 200) throw new Error(`An execution answered ${reply.status}: ${reply.text}`)
    return (JSON.parse(reply.text) as { execution: SkillExecution }).execution
  }
  return {
    gateway, apiKeyId, install, ask, execute,
    run: async (handlerCode, input) => {
      const name = `skill-${++made}`
      await install({ name, handlerCode })
      return await execute(name, input)
    },
    history: async () => (await operator.call<{ executions: ReadonlyArray<SkillExecution> }>("GET", "/api/skills/executions")).executions,
    close: gateway.close
  }
}

/** Processes whose parent is this one, and which run a sandbox. */
export const sandboxesOf = (parent: number): ReadonlyArray<number> => fs.readdirSync("/proc").flatMap((name) => {
  if (!/^\d+$/.test(name)) return []
  try {
    const ofParent = fs.readFileSync(`/proc/${name}/stat`, "utf8").replace(/^.*\) /s, "").split(" ")[1] === String(parent)
    return ofParent && fs.readFileSync(`/proc/${name}/cmdline`, "utf8").includes("--permission") ? [Number(name)] : []
  } catch {
    return []
  }
})
