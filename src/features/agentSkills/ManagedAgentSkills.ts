/** Pages for coding agents: those of the catalogue, made when they are asked for, and the operator's own. Each change is in the audit log. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import type { AgentSkill } from "./AgentSkill.ts"
import * as AgentSkills from "./AgentSkills.ts"
import type { AgentSkillChange, AgentSkillView, Coverage, Generated, Generation, NewAgentSkill } from "./api.ts"
import * as Catalogue from "./catalogue.ts"

/** Skills that operators may store. */
const OWN_MAX = 200

interface Wanted {
  readonly area?: string
  readonly category?: AgentSkillView["category"]
}

type Read<A> = Effect.Effect<A, Refusal.Refusal | StoreError>
type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export class ManagedAgentSkills extends Context.Service<ManagedAgentSkills, {
  readonly list: (wanted: Wanted) => Read<ReadonlyArray<AgentSkillView>>
  readonly get: (id: string) => Read<AgentSkillView>
  /** The page itself, as Markdown. */
  readonly raw: (id: string) => Read<string>
  readonly coverage: Read<Coverage>
  readonly generate: (input: Generation) => Done<Generated>
  readonly create: (input: NewAgentSkill) => Done<AgentSkillView>
  readonly update: (id: string, change: AgentSkillChange) => Done<AgentSkillView>
  readonly remove: (id: string) => Done<void>
}>()("gateway/features/agentSkills/ManagedAgentSkills") {}

const missing = Effect.fail(Refusal.notFound("Agent skill not found"))
const taken = Effect.fail(Refusal.conflict("Another agent skill has this name", { details: [{ field: "name", message: "Taken" }] }))

const entryView = ({ area, category, description, id, name }: Catalogue.Entry, generated: boolean): AgentSkillView =>
  ({ id, name, description, category, area, generated, prompt: null, model: null, temperature: null, createdAt: null, updatedAt: null })
const ownView = (skill: AgentSkill): AgentSkillView => ({ ...skill, category: "own", area: null, generated: false })

const make = Effect.gen(function*() {
  const audit = yield* Audit
  const random = yield* SecureRandom.SecureRandom
  const skills = yield* AgentSkills.make
  // A change keeps the fields that others change at the same time, and no two have one name.
  const locked = (yield* RecordLocks).of("agent skills")

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const note = (action: string, { id, name }: AgentSkill) => audit.note({ action, target: id, resourceType: "agent-skill", details: { name } })

  const list = Effect.fn("ManagedAgentSkills.list")(function*({ area, category }: Wanted) {
    const pages = yield* skills.pages
    const views = [...(yield* skills.entries).map((entry) => entryView(entry, pages.has(entry.id))), ...(yield* skills.own).map(ownView)]
    return views.filter((one) => (category === undefined || one.category === category) && (area === undefined || one.area === area))
  })

  const get = Effect.fn("ManagedAgentSkills.get")(function*(id: string) {
    const entry = (yield* skills.entries).find((one) => one.id === id)
    if (entry !== undefined) return entryView(entry, (yield* skills.pages).has(id))
    const own = (yield* skills.own).find((one) => one.id === id)
    return own === undefined ? yield* missing : ownView(own)
  })

  const raw = Effect.fn("ManagedAgentSkills.raw")(function*(id: string) {
    const entry = (yield* skills.entries).find((one) => one.id === id)
    if (entry !== undefined) return (yield* skills.pages).get(id)?.markdown ?? entry.markdown
    const own = (yield* skills.own).find((one) => one.id === id)
    return own === undefined ? yield* missing : Catalogue.ownPage(own)
  })

  const coverage = Effect.gen(function*() {
    const entries = yield* skills.entries
    const pages = yield* skills.pages
    const own = yield* skills.own
    const share = (category: Catalogue.Entry["category"]) => {
      const all = entries.filter((entry) => entry.category === category)
      return { have: all.filter(({ id }) => pages.has(id)).length, total: all.length }
    }
    const times = [...pages.values()].map(({ generatedAt }) => generatedAt).sort()
    return { api: share("api"), cli: share("cli"), totalSkills: entries.length + own.length, generatedAt: times.at(-1) ?? null }
  })

  const generate = Effect.fn("ManagedAgentSkills.generate")(function*({ dryRun = false, onlyIds, prune = false }: Generation) {
    const entries = yield* skills.entries
    const plan = yield* locked(Effect.gen(function*() {
      const stored = new Map([...yield* skills.pages].map(([id, { markdown }]) => [id, markdown] as const))
      const plan = Catalogue.planOf(entries, stored, onlyIds ?? null)
      if (dryRun) return plan
      const generatedAt = yield* now
      for (const { id, markdown } of plan.generated) yield* skills.putPage(id, { markdown, generatedAt })
      if (prune) for (const id of plan.orphans) yield* skills.removePage(id)
      return plan
    }))
    const generated = plan.generated.map(({ id }) => id)
    const pruned = prune ? plan.orphans : []
    if (!dryRun) yield* audit.note({ action: "agent_skills.generated", resourceType: "agent-skill", details: { generated: generated.length, pruned: pruned.length } })
    return { generated, unchanged: plan.unchanged, pruned, orphansDetected: plan.orphans, errors: plan.errors }
  })

  const create = Effect.fn("ManagedAgentSkills.create")(function*(input: NewAgentSkill) {
    const at = yield* now
    const entries = yield* skills.entries
    const skill: AgentSkill = {
      id: yield* random.uuidV4(), name: input.name, description: input.description, prompt: input.prompt, model: input.model ?? null,
      temperature: input.temperature ?? null, createdAt: at, updatedAt: at
    }
    yield* locked(Effect.gen(function*() {
      const own = yield* skills.own
      if (own.some(({ name }) => name === skill.name) || entries.some(({ id }) => id === skill.name)) return yield* taken
      if (own.length >= OWN_MAX) return yield* Effect.fail(Refusal.conflict(`${OWN_MAX} agent skills are stored: remove one first`))
      yield* skills.putOwn(skill)
    }))
    yield* note("agent_skill.created", skill)
    return ownView(skill)
  })

  /** The operator's own; the catalogue's entries are made by the gateway. */
  const found = Effect.fnUntraced(function*(id: string) {
    const own = (yield* skills.own).find((one) => one.id === id)
    if (own !== undefined) return own
    return (yield* skills.entries).some((entry) => entry.id === id)
      ? yield* Effect.fail(Refusal.badRequest("The catalogue's entries are read-only: create a skill of your own"))
      : yield* missing
  })

  const update = Effect.fn("ManagedAgentSkills.update")(function*(id: string, change: AgentSkillChange) {
    const entries = yield* skills.entries
    const skill = yield* locked(Effect.gen(function*() {
      const skill: AgentSkill = { ...yield* found(id), ...change, updatedAt: yield* now }
      const isTaken = (yield* skills.own).some((other) => other.id !== id && other.name === skill.name) || entries.some((entry) => entry.id === skill.name)
      if (isTaken) return yield* taken
      yield* skills.putOwn(skill)
      return skill
    }))
    yield* note("agent_skill.updated", skill)
    return ownView(skill)
  })

  const remove = Effect.fn("ManagedAgentSkills.remove")(function*(id: string) {
    const skill = yield* found(id)
    if (!(yield* locked(skills.removeOwn(id)))) return yield* missing
    yield* note("agent_skill.deleted", skill)
  })

  return ManagedAgentSkills.of({ list, get, raw, coverage, generate, create, update, remove })
})

export const layer = Layer.effect(ManagedAgentSkills, make)
