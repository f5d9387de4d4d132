/** Which tools of vendors the gateway runs itself for the models of a connection. */
import * as Schema from "effect/Schema"
import { text } from "#schemas/api/fields.ts"

const mostModels = 200

/** Providers that read pages; null = whichever `POST /v1/web/fetch` asks. */
const FetchBackend = Schema.NullOr(Schema.Literals(["firecrawl", "jina", "tavily"]))

const ofModel = Schema.Struct({
  interceptSearch: Schema.optionalKey(Schema.Boolean),
  interceptFetch: Schema.optionalKey(Schema.Boolean),
  fetchBackend: Schema.optionalKey(FetchBackend)
})

export const InterceptionRules = Schema.Struct({
  /** Searches of the web. */
  interceptSearch: Schema.Boolean,
  /** Pages of the web. */
  interceptFetch: Schema.Boolean,
  fetchBackend: FetchBackend,
  fetchProxyUrl: Schema.NullOr(text(0, 2000)),
  /** The same for one model, by its id at the upstream: what it says counts before the above. */
  models: Schema.Record(Schema.String, ofModel).check(Schema.isMaxProperties(mostModels))
})
export interface InterceptionRules extends Schema.Schema.Type<typeof InterceptionRules> {}

/** Kind of the documents that hold them, by the connection's id. */
export const documentKind = "interception-rules"

export const interceptionDefaults: InterceptionRules = { interceptSearch: false, interceptFetch: false, fetchBackend: null, fetchProxyUrl: null, models: {} }

const isRules = Schema.is(InterceptionRules)

/** What a stored document says; the defaults for one that is no longer allowed. */
export const interceptionRulesOf = (stored: unknown): InterceptionRules => isRules(stored) ? stored : interceptionDefaults

/** What holds for one model. */
export type Interception = Pick<InterceptionRules, "interceptSearch" | "interceptFetch" | "fetchBackend">

export const forModel = ({ fetchBackend, interceptFetch, interceptSearch, models }: InterceptionRules, model: string): Interception =>
  ({ interceptSearch, interceptFetch, fetchBackend, ...Object.hasOwn(models, model) ? models[model] : {} })
