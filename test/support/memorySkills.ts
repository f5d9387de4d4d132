/** Records of skills in memory, and what runs them: nothing, as a gateway that was not told to. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoreError } from "#actors/ports/StoreError.ts"
import * as SkillMarkets from "#src/features/skills/SkillMarkets.ts"
import * as Executions from "#src/features/skills/Executions.ts"
import type { Skill, SkillExecution } from "#src/features/skills/ports/Skill.ts"
import { SkillExecutionStore } from "#src/features/skills/ports/SkillExecutionStore.ts"
import { SkillStore } from "#src/features/skills/ports/SkillStore.ts"

const taken = (operation: string, field: string) => new StoreError({ store: "SkillStore", operation, reason: "conflict", field, message: `SkillStore.${operation}: ${field} is taken.` })

export const skills = Layer.sync(SkillStore, () => {
  const rows = new Map<string, Skill>()
  const all = () => [...rows.values()].sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : a.createdAt > b.createdAt ? -1 : a.createdAt < b.createdAt ? 1 : a.id < b.id ? -1 : 1)
  const isTaken = ({ id, name, version }: Skill): boolean => all().some((other) => other.id !== id && other.name === name && other.version === version)
  return SkillStore.of({
    list: ({ limit, mode, offset, q, source }) => Effect.sync(() => {
      const found = all().filter((skill) => (mode === undefined || skill.mode === mode) && (source === undefined || skill.sourceProvider === source) &&
        (q === undefined || [skill.name, skill.description, ...skill.tags].some((text) => text.toLowerCase().includes(q.toLowerCase()))))
      return { skills: found.slice(offset, offset + limit), total: found.length }
    }),
    get: (id) => Effect.sync(() => rows.get(id) ?? null),
    versions: (name) => Effect.sync(() => all().filter((skill) => skill.name === name).sort((a, b) => a.version < b.version ? -1 : 1)),
    popular: (limit) => Effect.sync(() => {
      const counts = new Map<string, number>()
      for (const { installCount, name } of all()) counts.set(name, (counts.get(name) ?? 0) + installCount)
      return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, limit).map(([name]) => name)
    }),
    insert: (skill) => Effect.suspend(() => {
      if (rows.has(skill.id)) return Effect.fail(taken("insert", "id"))
      if (isTaken(skill)) return Effect.fail(taken("insert", "version"))
      rows.set(skill.id, skill)
      return Effect.void
    }),
    replace: (skill) => Effect.suspend(() => {
      if (!rows.has(skill.id)) return Effect.succeed(false)
      if (isTaken(skill)) return Effect.fail(taken("replace", "version"))
      rows.set(skill.id, skill)
      return Effect.succeed(true)
    }),
    remove: (id) => Effect.sync(() => rows.delete(id))
  })
})

export const executions = Layer.sync(SkillExecutionStore, () => {
  const rows = new Map<string, SkillExecution>()
  const newest = () => [...rows.values()].sort((a, b) => a.createdAt === b.createdAt ? (a.id > b.id ? -1 : 1) : a.createdAt > b.createdAt ? -1 : 1)
  const isLive = ({ status }: SkillExecution): boolean => status === "pending" || status === "running"
  const change = (id: string, fits: (row: SkillExecution) => boolean, fields: Partial<SkillExecution>): void => {
    const row = rows.get(id)
    if (row !== undefined && fits(row)) rows.set(id, { ...row, ...fields })
  }
  return SkillExecutionStore.of({
    list: ({ apiKeyId, limit, offset }) => Effect.sync(() => {
      const found = newest().filter((row) => apiKeyId === undefined || row.apiKeyId === apiKeyId)
      return { executions: found.slice(offset, offset + limit), total: found.length }
    }),
    insert: (execution) => Effect.sync(() => void rows.set(execution.id, execution)),
    begin: (id) => Effect.sync(() => change(id, ({ status }) => status === "pending", { status: "running" })),
    end: (id, end) => Effect.sync(() => change(id, isLive, end)),
    abandon: (before, errorMessage) => Effect.sync(() => {
      for (const { createdAt, id } of newest()) if (createdAt < before) change(id, isLive, { status: "error", errorMessage })
    }),
    trim: (most) => Effect.sync(() => {
      for (const { id } of newest().slice(most)) rows.delete(id)
    })
  })
})

export const surface = Layer.merge(Executions.layer({ isOn: false, timeoutMs: 30_000 }), SkillMarkets.layerOf({ skillsmpUrl: null, skillsshUrl: null })).pipe(Layer.provideMerge(Layer.merge(skills, executions)))
