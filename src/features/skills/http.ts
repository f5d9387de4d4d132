import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as BoundKey from "#src/management/authentication/boundKey.ts"
import * as Surface from "#src/management/Surface.ts"
import { type FromMarket, type NewExecution, NewSkill, type SkillChange, SkillsGroup } from "./api.ts"
import * as Choice from "./choice.ts"
import { Executions } from "./Executions.ts"
import * as JsonShape from "./jsonShape.ts"
import type { ListedMode, MarketName, Skill, SkillSchema } from "./ports/Skill.ts"
import { SkillMarkets } from "./SkillMarkets.ts"
import { SkillStore } from "./ports/SkillStore.ts"

const LIMIT = 50
const VERSION = "1.0.0"
/** Skills of a gateway. */
const SKILLS_MAX = 200
const POPULAR = 5
/** Characters of an input's JSON. */
const INPUT_MAX = 256 * 1_024

const decode = Schema.decodeUnknownResult(NewSkill)

const missing = Effect.fail(Refusal.notFound("Skill not found"))
const shared = Effect.fail(Refusal.forbidden("This skill runs for any key: a key without the scope manage changes its own skills only"))
const keyMissing = Effect.fail(Refusal.notFound("API key not found"))

const checked = (schema: SkillSchema | undefined): Effect.Effect<void, Refusal.Refusal> => {
  for (const side of ["input", "output"] as const) {
    const problem = schema === undefined ? null : JsonShape.problemOf(schema[side])
    if (problem !== null) return Effect.fail(Refusal.invalidField(`schema.${side}`, problem))
  }
  return Effect.void
}

const ownerOf = (given: string | undefined) => BoundKey.ownerOf(given, "This API key may use skills for itself only")

const pageOf = ({ limit = LIMIT, page = 1 }: { readonly limit?: number; readonly page?: number }) => ({ page, limit, offset: (page - 1) * limit })

export const layer = HttpApiBuilder.group(Surface.make(SkillsGroup), "skills", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const executions = yield* Executions
  const keys = yield* KeyStore
  const markets = yield* SkillMarkets
  const random = yield* SecureRandom.SecureRandom
  const store = yield* SkillStore
  // A change keeps the fields that others change at the same time.
  const locked = (yield* RecordLocks).of("skills")

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const find = Effect.fnUntraced(function*(id: string) {
    const skill = yield* store.get(id)
    const own = yield* BoundKey.boundTo
    return skill === null || (own !== null && skill.apiKeyId !== null && skill.apiKeyId !== own) ? yield* missing : skill
  })
  const note = (action: string, { apiKeyId, enabled, id, mode, name, sourceProvider, version }: Skill, more: Readonly<Record<string, string>> = {}) =>
    audit.note({ action, target: id, resourceType: "skill", details: { name, version, enabled, mode, apiKeyId, sourceProvider, ...more } })

  const list = Effect.fn("Skills.list")(function*({ apiKeyId, mode, q, source, ...asked }: {
    readonly limit?: number; readonly page?: number; readonly q?: string; readonly mode?: typeof ListedMode.Type; readonly source?: Skill["sourceProvider"]; readonly apiKeyId?: string
  }) {
    const { limit, offset, page } = pageOf(asked)
    const { skills, total } = yield* store.list({ q, mode, source, apiKeyId: yield* ownerOf(apiKeyId), limit, offset })
    return { data: skills, skills, total, page, limit, totalPages: Math.ceil(total / limit), provider: markets.provider(), popularDefaults: yield* store.popular(POPULAR) }
  })

  const install = Effect.fn("Skills.install")(function*(input: NewSkill, source: Skill["sourceProvider"] = "local", details: Readonly<Record<string, string>> = {}) {
    yield* checked(input.schema)
    const apiKeyId = input.apiKeyId ?? null
    if (apiKeyId !== null && (yield* keys.get(apiKeyId)) === null) return yield* keyMissing
    const version = input.version ?? VERSION
    const at = yield* now
    const fresh = yield* random.uuidV4()
    const skill = yield* locked(Effect.gen(function*() {
      const known = (yield* store.versions(input.name)).find((one) => one.version === version)
      if (known === undefined && (yield* store.list({ limit: 1, offset: 0 })).total >= SKILLS_MAX) {
        return yield* Effect.fail(Refusal.conflict(`There are ${SKILLS_MAX} skills already: remove one first`))
      }
      if (known !== undefined && source !== "local" && known.sourceProvider !== source) {
        return yield* Effect.fail(Refusal.conflict(`${input.name}@${version} is installed from ${known.sourceProvider}: remove or rename it first`))
      }
      const skill: Skill = {
        id: known?.id ?? fresh, apiKeyId, name: input.name, version, description: input.description ?? "", schema: input.schema ?? { input: {}, output: {} },
        handler: input.handlerCode, enabled: known?.enabled ?? true, mode: known?.mode ?? "on", tags: input.tags ?? known?.tags ?? [], sourceProvider: source,
        installCount: (known?.installCount ?? 0) + 1, createdAt: known?.createdAt ?? at, updatedAt: at
      }
      if (known === undefined) yield* store.insert(skill)
      else if (!(yield* store.replace(skill))) return yield* missing
      return skill
    }))
    yield* note("skill.installed", skill, details)
    return { success: true as const, id: skill.id }
  })

  const search = Effect.fn("Skills.search")(function*(provider: MarketName, { limit = LIMIT, q = "" }: { readonly limit?: number; readonly q?: string }) {
    const found = yield* markets.of(provider).search(q, limit)
    return { provider, skills: found, total: found.length }
  })

  /** A package holds what a call would say of the skill, and is checked as the call is. */
  const installFrom = Effect.fn("Skills.installFrom")(function*(provider: MarketName, { apiKeyId, ...wanted }: FromMarket) {
    const { content, sha256 } = yield* markets.of(provider).take(wanted)
    const { apiKeyId: _own, ...skill } = content
    const read = decode(skill)
    if (Result.isFailure(read)) return yield* Effect.fail(Refusal.unprocessable(`The package of ${wanted.id} is no skill: ${read.failure.message}`))
    return yield* install({ ...read.success, ...(apiKeyId === undefined ? {} : { apiKeyId }) }, provider, { marketId: wanted.id, sha256 })
  })

  const update = Effect.fn("Skills.update")(function*(id: string, change: SkillChange) {
    yield* checked(change.schema)
    const skill = yield* locked(Effect.gen(function*() {
      const known = yield* find(id)
      if (known.apiKeyId === null && (yield* BoundKey.boundTo) !== null) return yield* shared
      const skill: Skill = { ...known, ...change, updatedAt: yield* now }
      if (!(yield* store.replace(skill))) return yield* missing
      return skill
    }))
    yield* note("skill.updated", skill)
    return { skill }
  })

  const remove = Effect.fn("Skills.remove")(function*(id: string) {
    const skill = yield* find(id)
    if (!(yield* locked(store.remove(id)))) return yield* missing
    yield* note("skill.deleted", skill)
    return { success: true as const }
  })

  const execute = Effect.fn("Skills.execute")(function*({ apiKeyId, input = {}, sessionId, skillName }: NewExecution) {
    yield* executions.ready
    yield* ownerOf(apiKeyId)
    if (JSON.stringify(input).length > INPUT_MAX) return yield* Effect.fail(Refusal.invalidField("input", `At most ${INPUT_MAX} characters of JSON`))
    const key = yield* keys.get(apiKeyId)
    if (key === null) return yield* keyMissing
    const { name, version } = Choice.named(skillName)
    const own = (yield* store.versions(name)).filter((skill) => skill.apiKeyId === null || skill.apiKeyId === apiKeyId)
    const wanted = version === null ? own : own.filter((skill) => skill.version === version)
    if (wanted.length === 0) return yield* missing
    const skill = Choice.newest(wanted.filter(({ enabled, mode }) => enabled && mode !== "off"))
    if (skill === null) return yield* Effect.fail(Refusal.conflict(`The skill ${skillName} is off: set enabled and mode`))
    const misfit = JsonShape.misfitOf(skill.schema.input, input)
    if (misfit !== null) return yield* Effect.fail(Refusal.invalidField("input", misfit))
    const execution = yield* executions.run({ skill, apiKeyId, sessionId: sessionId ?? null, input })
    yield* audit.note({ action: "skill.executed", target: skill.id, resourceType: "skill", details: { executionId: execution.id, apiKeyId, status: execution.status } })
    return { execution }
  })

  const history = Effect.fn("Skills.executions")(function*(query: { readonly limit?: number; readonly page?: number; readonly apiKeyId?: string }) {
    const { limit, offset, page } = pageOf(query)
    const found = yield* executions.list({ apiKeyId: yield* ownerOf(query.apiKeyId), limit, offset })
    return { data: found.executions, ...found, page, limit, totalPages: Math.ceil(found.total / limit) }
  })

  return handlers.handleAll({
    list: ({ query }) => answer(list(query)),
    install: ({ payload }) => answer(install(payload)),
    executions: ({ query }) => answer(history(query)),
    execute: ({ payload }) => answer(execute(payload)),
    marketplace: ({ query }) => answer(search(markets.chosen(), query)),
    installMarketplace: ({ payload }) => answer(installFrom(markets.chosen(), payload)),
    skillssh: ({ query }) => answer(search("skillssh", query)),
    installSkillssh: ({ payload }) => answer(installFrom("skillssh", payload)),
    get: ({ params }) => answer(Effect.map(find(params.id), (skill) => ({ skill }))),
    update: ({ params, payload }) => answer(update(params.id, payload)),
    remove: ({ params }) => answer(remove(params.id))
  })
}))
