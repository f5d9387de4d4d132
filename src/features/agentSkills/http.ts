import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import type { AgentSkill } from "./AgentSkill.ts"
import * as AgentSkills from "./AgentSkills.ts"
import { type AgentSkillChange, AgentSkillsGroup, type AgentSkillView, type Generation, type NewAgentSkill } from "./api.ts"
import * as Catalogue from "./catalogue.ts"

/** Skills that operators may store. */
const OWN_MAX = 200

const missing = Effect.fail(Refusal.notFound("Agent skill not found"))
const taken = Effect.fail(Refusal.conflict("Another agent skill has this name", { details: [{ field: "name", message: "Taken" }] }))

const entryView = ({ area, category, description, id, name }: Catalogue.Entry, generated: boolean): AgentSkillView =>
  ({ id, name, description, category, area, generated, prompt: null, model: null, temperature: null, createdAt: null, updatedAt: null })
const ownView = (skill: AgentSkill): AgentSkillView => ({ ...skill, category: "own", area: null, generated: false })

export const layer = HttpApiBuilder.group(Surface.make(AgentSkillsGroup), "agentSkills", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const random = yield* SecureRandom.SecureRandom
  const skills = yield* AgentSkills.make
  // A change keeps the fields that others change at the same time, and no two have one name.
  const locked = (yield* RecordLocks).of("agent skills")

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const note = (action: string, { id, name }: AgentSkill) => audit.note({ action, target: id, resourceType: "agent-skill", details: { name } })

  const list = Effect.fn("AgentSkills.list")(function*({ area, category }: { readonly area?: string; readonly category?: AgentSkillView["category"] }) {
    const pages = yield* skills.pages
    const views = [...(yield* skills.entries).map((entry) => entryView(entry, pages.has(entry.id))), ...(yield* skills.own).map(ownView)]
    return { skills: views.filter((one) => (category === undefined || one.category === category) && (area === undefined || one.area === area)) }
  })

  const get = Effect.fn("AgentSkills.get")(function*(id: string) {
    const entry = (yield* skills.entries).find((one) => one.id === id)
    if (entry !== undefined) return { skill: entryView(entry, (yield* skills.pages).has(id)) }
    const own = (yield* skills.own).find((one) => one.id === id)
    return own === undefined ? yield* missing : { skill: ownView(own) }
  })

  const raw = Effect.fn("AgentSkills.raw")(function*(id: string) {
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

  const generate = Effect.fn("AgentSkills.generate")(function*({ dryRun = false, onlyIds, prune = false }: Generation) {
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

  const create = Effect.fn("AgentSkills.create")(function*(input: NewAgentSkill) {
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
    return { skill: ownView(skill) }
  })

  /** The operator's own; the catalogue's entries are made by the gateway. */
  const found = Effect.fnUntraced(function*(id: string) {
    const own = (yield* skills.own).find((one) => one.id === id)
    if (own !== undefined) return own
    return (yield* skills.entries).some((entry) => entry.id === id)
      ? yield* Effect.fail(Refusal.badRequest("The catalogue's entries are read-only: create a skill of your own"))
      : yield* missing
  })

  const update = Effect.fn("AgentSkills.update")(function*(id: string, change: AgentSkillChange) {
    const entries = yield* skills.entries
    const skill = yield* locked(Effect.gen(function*() {
      const skill: AgentSkill = { ...yield* found(id), ...change, updatedAt: yield* now }
      const isTaken = (yield* skills.own).some((other) => other.id !== id && other.name === skill.name) || entries.some((entry) => entry.id === skill.name)
      if (isTaken) return yield* taken
      yield* skills.putOwn(skill)
      return skill
    }))
    yield* note("agent_skill.updated", skill)
    return { skill: ownView(skill) }
  })

  const remove = Effect.fn("AgentSkills.remove")(function*(id: string) {
    const skill = yield* found(id)
    if (!(yield* locked(skills.removeOwn(id)))) return yield* missing
    yield* note("agent_skill.deleted", skill)
    return { success: true as const }
  })

  return handlers.handleAll({
    list: ({ query }) => answer(list(query)),
    create: ({ payload }) => answer(create(payload)),
    coverage: () => answer(coverage),
    generate: ({ payload }) => answer(generate(payload)),
    get: ({ params }) => answer(get(params.id)),
    raw: ({ params }) => answer(raw(params.id)),
    update: ({ params, payload }) => answer(update(params.id, payload)),
    remove: ({ params }) => answer(remove(params.id))
  })
}))
