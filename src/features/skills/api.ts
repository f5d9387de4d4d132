import * as Schema from "effect/Schema"
import * as SemVer from "effect/SemVer"
import * as Result from "effect/Result"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, administers, alwaysProtected, reads } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { Document, listOf, queryInteger, Success, text } from "#schemas/api/fields.ts"
import { MarketInstall, MarketQuery } from "#src/management/markets/api.ts"
import { Entry } from "#src/management/markets/listing.ts"
import { ListedMode, marketNames, Skill, SkillExecution, SkillMode, SkillSource } from "./ports/Skill.ts"

const opt = Schema.optionalKey

/** No `@`: it parts a name from its version. */
const name = text(1, 100).check(Schema.isPattern(/^[^@\s\p{Cc}](?:[^@\p{Cc}]*[^@\s\p{Cc}])?$/u, { message: "Expected no @, no control character, and no space at either end" }))
const version = text(1, 64).check(Schema.makeFilter((value: string) => Result.isSuccess(SemVer.parse(value)), { message: "Expected a semantic version such as 1.0.0" }))
const description = text(0, 500)
const schema = Schema.Struct({ input: Document, output: Document })
const handler = text(1, 50_000)
const tags = listOf(text(1, 64), 20)

export const NewSkill = Schema.Struct({
  name,
  /** Default 1.0.0. */
  version: opt(version),
  description: opt(description),
  schema: opt(schema),
  handlerCode: handler,
  /** Id of the API key that may run it; left out: every key may. */
  apiKeyId: opt(text(1, 200)),
  tags: opt(tags)
})
export type NewSkill = typeof NewSkill.Type

export const SkillChange = Schema.Struct({
  enabled: opt(Schema.Boolean), mode: opt(SkillMode), name: opt(name), description: opt(description), schema: opt(schema), handler: opt(handler), tags: opt(tags)
})
export type SkillChange = typeof SkillChange.Type

export const NewExecution = Schema.Struct({
  /** A name: its newest version that is enabled; or `name@version`. */
  skillName: text(1, 200),
  apiKeyId: text(1, 200),
  /** Default `{}`. */
  input: opt(Schema.Json),
  sessionId: opt(text(0, 200))
})
export type NewExecution = typeof NewExecution.Type

const page = { page: opt(queryInteger(1, 1_000_000)), limit: opt(queryInteger(1, 200)) }
const paged = { total: Schema.Int, page: Schema.Int, limit: Schema.Int, totalPages: Schema.Int }

const SkillView = Skill.annotate({ identifier: "Skill" })
const ExecutionView = SkillExecution.annotate({ identifier: "SkillExecution" })

const Installed = Schema.Struct({ ...Success.fields, id: Schema.String })
const Found = Schema.Struct({ provider: Schema.Literals(marketNames), skills: Schema.Array(Entry), total: Schema.Int }).annotate({ identifier: "MarketSkills" })

export const FromMarket = Schema.Struct({ ...MarketInstall, apiKeyId: opt(text(1, 200)) }).annotate({ identifier: "MarketInstall" })
export type FromMarket = typeof FromMarket.Type

const params = { id: Schema.String }
const path = "/api/skills"
const One = Schema.Struct({ skill: SkillView })

/** Code of the operator's, run in a sandbox. */
export const SkillsGroup = HttpApiGroup.make("skills").add(
  HttpApiEndpoint.get("list", path, {
    query: {
      ...page, q: opt(text(1, 200)), mode: opt(ListedMode), source: opt(SkillSource),
      /** Those that run for this key: its own, and those of any key. */
      apiKeyId: opt(text(1, 200))
    },
    success: Schema.Struct({
      data: Schema.Array(SkillView),
      skills: Schema.Array(SkillView),
      ...paged,
      /** The marketplace that is asked; null while it is off. */
      provider: Schema.NullOr(Schema.Literals(marketNames)),
      /** Names that were installed most. */
      popularDefaults: Schema.Array(Schema.String)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Skills by name; `skills` and `data` are the same"),
  HttpApiEndpoint.post("install", `${path}/install`, { payload: NewSkill, success: Installed })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Install a skill, or its code once more under the same name and version"),
  HttpApiEndpoint.get("executions", `${path}/executions`, {
    query: { ...page, apiKeyId: opt(text(1, 200)) },
    success: Schema.Struct({ data: Schema.Array(ExecutionView), executions: Schema.Array(ExecutionView), ...paged })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Executions, newest first; the last 1000 are kept"),
  HttpApiEndpoint.post("execute", `${path}/executions`, { payload: NewExecution, success: Schema.Struct({ execution: ExecutionView }) })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Run a skill in a sandbox and wait for its end; 503 while GATEWAY_SKILLS is off"),
  HttpApiEndpoint.get("marketplace", `${path}/marketplace`, { query: MarketQuery, success: Found })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Skills of the marketplace that the setting skillsProvider names"),
  HttpApiEndpoint.post("installMarketplace", `${path}/marketplace/install`, { payload: FromMarket, success: Installed })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Install a skill of that marketplace"),
  HttpApiEndpoint.get("skillssh", `${path}/skillssh`, { query: MarketQuery, success: Found })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Skills of the marketplace skillssh"),
  HttpApiEndpoint.post("installSkillssh", `${path}/skillssh/install`, { payload: FromMarket, success: Installed })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Install a skill of skillssh"),
  HttpApiEndpoint.get("get", `${path}/:id`, { params, success: One }).annotate(Access, reads).annotate(OpenApi.Summary, "One skill"),
  HttpApiEndpoint.put("update", `${path}/:id`, { params, payload: SkillChange, success: One })
    .annotate(SentBack, sentBack({ moves: ["installCount"] })).annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "Change a skill; what is left out stays"),
  HttpApiEndpoint.delete("remove", `${path}/:id`, { params, success: Success })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Remove a skill; its executions stay")
).annotateMerge(OpenApi.annotations({ title: "Skills", description: "Code of the operator's that runs in a sandbox." }))
