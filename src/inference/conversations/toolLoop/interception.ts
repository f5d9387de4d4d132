/**
 * Tools of vendors that the gateway runs itself, as the rules of connections say: which of them a request has, the functions that
 * stand in their place, and what is asked and told. Pure.
 */
import type { Conversation, FunctionTool, HostedTool, Tool, ToolChoice } from "#schemas/wire/conversation.ts"
import { forModel, type Interception, interceptionRulesOf } from "#schemas/tools/InterceptionRules.ts"
import * as Json from "#src/wire/json/json.ts"
import { RESULT_MAX } from "./toolTurns.ts"

type Body = Readonly<Record<string, unknown>>

export type Kind = "search" | "fetch"

/** What holds for a target; null: its vendor runs its tools. */
export type Rules = (connectionId: string | null, model: string) => Interception | null

/** `stored`: the documents of connections, by their ids. Null when no tool is to be run here. */
export const rulesOf = (stored: ReadonlyMap<string, unknown>): Rules | null => {
  if (stored.size === 0) return null
  const isOn = ({ interceptFetch = false, interceptSearch = false }: Partial<Interception>): boolean => interceptSearch || interceptFetch
  const acting = new Map([...stored].map(([id, document]) => [id, interceptionRulesOf(document)] as const)
    .filter(([, rules]) => isOn(rules) || Object.values(rules.models).some(isOn)))
  if (acting.size === 0) return null
  return (connectionId, model) => {
    const rules = connectionId === null ? undefined : acting.get(connectionId)
    return rules === undefined ? null : forModel(rules, model)
  }
}

const patterns: ReadonlyArray<readonly [Kind, RegExp]> = [
  ["search", /^(?:web_search(?:_preview)?(?:_[\d_]{8,10})?|google_?search(?:_?retrieval)?)$/i],
  ["fetch", /^(?:web_fetch(?:_\d{8})?|url_?context)$/i]
]

const kindOf = (type: string): Kind | null => patterns.find(([, pattern]) => pattern.test(type))?.[0] ?? null

/** The field of chat completions that asks for searches without a tool. */
const SEARCH_OPTIONS = "web_search_options"

const kindsIn = (tool: unknown): ReadonlyArray<Kind | null> => {
  if (!Json.isRecord(tool)) return []
  // Generate-content names its tools by members.
  return typeof tool["type"] === "string" ? [kindOf(tool["type"])] : Object.keys(tool).map(kindOf)
}

/** Tools of a body that the rule takes over; empty = none. */
export const wanted = ({ interceptFetch, interceptSearch }: Interception, body: Body): ReadonlySet<Kind> => {
  const { tools } = body
  const kinds = new Set<Kind | null>(Array.isArray(tools) ? tools.flatMap(kindsIn) : [])
  if (Json.isRecord(body[SEARCH_OPTIONS])) kinds.add("search")
  return new Set<Kind>([...interceptSearch && kinds.has("search") ? ["search" as const] : [], ...interceptFetch && kinds.has("fetch") ? ["fetch" as const] : []])
}

/** What the client's tool says of its use. */
export interface Bounds {
  readonly maxUses: number | null
  /** Hosts, or hosts with the beginning of a path; empty = all. */
  readonly allowed: ReadonlyArray<string>
  readonly blocked: ReadonlyArray<string>
  readonly country: string | null
  /** Characters of a page. */
  readonly characters: number
}

export interface HostedFunction {
  readonly kind: Kind
  readonly tool: FunctionTool
  readonly bounds: Bounds
}

const wholeOf = (value: unknown): number | null => Number.isSafeInteger(value) && (value as number) >= 0 ? value as number : null
const textsOf = (value: unknown): ReadonlyArray<string> => Array.isArray(value) ? value.filter((one) => typeof one === "string").map((one) => one.toLowerCase()) : []
const recordOf = (value: unknown): Body => Json.isRecord(value) ? value : {}

const CHARACTERS_OF_TOKEN = 4

const boundsOf = (value: unknown): Bounds => {
  const { allowed_domains: allowed, blocked_domains: blocked, filters, max_content_tokens: tokens, max_uses: maxUses, user_location: location } = recordOf(value)
  const { allowed_domains: filtered } = recordOf(filters)
  const place = recordOf(location)
  const country = place["country"] ?? recordOf(place["approximate"])["country"]
  return {
    maxUses: wholeOf(maxUses), allowed: [...textsOf(allowed), ...textsOf(filtered)], blocked: textsOf(blocked),
    country: typeof country === "string" && /^[a-z]{2}$/i.test(country) ? country.toUpperCase() : null,
    characters: Math.min(RESULT_MAX, (wholeOf(tokens) ?? RESULT_MAX) * CHARACTERS_OF_TOKEN)
  }
}

const said = {
  search: { name: "web_search", description: "Searches the web. The answer names titles, addresses and excerpts of pages.", member: "query", about: "What to search for." },
  fetch: { name: "web_fetch", description: "Reads a page of the web and answers its text.", member: "url", about: "The http or https address of the page." }
} as const

const functionOf = (kind: Kind, name: string): FunctionTool => ({
  kind: "function", name, description: said[kind].description, strict: null, cache: null,
  parameters: { type: "object", properties: { [said[kind].member]: { type: "string", description: said[kind].about } }, required: [said[kind].member], additionalProperties: false }
})

/** `web_search`, or with a number where the client uses that name itself. */
const freeName = (kind: Kind, taken: ReadonlySet<string>): string => {
  const { name } = said[kind]
  let free: string = name
  for (let i = 2; taken.has(free); i++) free = `${name}_${i}`
  return free
}

export interface Replaced {
  readonly conversation: Conversation
  /** By their names. */
  readonly functions: ReadonlyMap<string, HostedFunction>
}

/** The conversation with functions in the place of these tools. */
export const replaced = (conversation: Conversation, kinds: ReadonlySet<Kind>): Replaced => {
  const { extras, toolChoice, tools } = conversation
  const kindIn = (tool: Tool): Kind | null => {
    const kind = tool.kind === "hosted" ? kindOf(tool.type) : null
    return kind !== null && kinds.has(kind) ? kind : null
  }
  const options = kinds.has("search") ? extras.find(({ field }) => field === SEARCH_OPTIONS) : undefined
  const taken = new Set(tools.map((tool) => tool.kind === "hosted" ? "" : tool.name))
  const made = new Map<Kind, HostedFunction>()
  const make = (kind: Kind, value: unknown): ReadonlyArray<FunctionTool> => {
    if (made.has(kind)) return []
    const tool = functionOf(kind, freeName(kind, taken))
    made.set(kind, { kind, tool, bounds: boundsOf(value) })
    return [tool]
  }
  const valueOf = ({ format, type, value }: HostedTool): unknown => format === "generateContent" ? recordOf(value)[type] : value
  const kept = tools.flatMap((tool): ReadonlyArray<Tool> => {
    const kind = kindIn(tool)
    return kind === null || tool.kind !== "hosted" ? [tool] : make(kind, valueOf(tool))
  })
  const further = options === undefined ? [] : make("search", options.value)
  /** What a choice calls them: the tool's type, or its name in the messages format. */
  const names = new Map(tools.flatMap((tool): ReadonlyArray<readonly [string, string]> => {
    const name = made.get(kindIn(tool) ?? "fetch")?.tool.name
    if (kindIn(tool) === null || tool.kind !== "hosted" || name === undefined) return []
    const own = recordOf(tool.value)["name"]
    return [[tool.type, name], ...typeof own === "string" && !taken.has(own) ? [[own, name] as const] : []]
  }))
  return {
    conversation: {
      ...conversation, tools: [...kept, ...further], toolChoice: choiceOf(toolChoice, names),
      extras: options === undefined ? extras : extras.filter((extra) => extra !== options)
    },
    functions: new Map([...made.values()].map((one) => [one.tool.name, one]))
  }
}

const choiceOf = (choice: ToolChoice | null, names: ReadonlyMap<string, string>): ToolChoice | null => {
  if (choice === null) return null
  const renamed = (name: string): string => names.get(name) ?? name
  switch (choice.kind) {
    case "hosted": {
      const name = names.get(choice.type)
      return name === undefined ? choice : { kind: "tool", name }
    }
    case "tool": return { kind: "tool", name: renamed(choice.name) }
    case "allowed": return { ...choice, names: choice.names.map(renamed) }
    default: return choice
  }
}

// ---- What is asked ------------------------------------------------------------------------------------------------------------------------

const QUERY_MAX = 500
const RESULTS = 5
/** Domains that the search itself is told; what it finds is looked at again. */
const DOMAINS_MAX = 20

const isPlainHost = (domain: string): boolean => /^[a-z0-9.-]{1,253}$/.test(domain)
const hosts = (domains: ReadonlyArray<string>): ReadonlyArray<string> => {
  const plain = [...new Set(domains.map((domain) => domain.split("/", 1)[0] ?? "").filter(isPlainHost))]
  return plain.length > DOMAINS_MAX ? [] : plain
}

/** The body of `POST /v1/search`; null without a query. */
export const searchOf = (args: Body, { allowed, blocked, country }: Bounds): Body | null => {
  const query = typeof args["query"] === "string" ? args["query"].trim().slice(0, QUERY_MAX) : ""
  if (query === "") return null
  const [included, excluded] = [hosts(allowed), hosts(blocked.filter((domain) => !domain.includes("/")))]
  return {
    query, max_results: RESULTS, ...country === null ? {} : { country },
    ...included.length + excluded.length === 0 ? {} : { filters: {
      ...included.length === 0 ? {} : { include_domains: included }, ...excluded.length === 0 ? {} : { exclude_domains: excluded }
    } }
  }
}

/** The body of `POST /v1/web/fetch`; null without an address. */
export const fetchOf = (args: Body, backend: Interception["fetchBackend"]): Body | null => {
  const url = typeof args["url"] === "string" ? args["url"].trim() : ""
  return url === "" ? null : { url, include_metadata: true, ...backend === null ? {} : { provider: backend } }
}

/** May the model be told of the page? A domain holds its subdomains, and a path what begins with it. */
export const mayUse = ({ allowed, blocked }: Bounds, url: string): boolean => {
  if (allowed.length + blocked.length === 0) return true
  const page = URL.parse(url)
  if (page === null) return false
  const fits = (domain: string): boolean => {
    const slash = domain.indexOf("/")
    const host = slash < 0 ? domain : domain.slice(0, slash)
    return (page.hostname === host || page.hostname.endsWith(`.${host}`)) && (slash < 0 || page.pathname.toLowerCase().startsWith(domain.slice(slash)))
  }
  return (allowed.length === 0 || allowed.some(fits)) && !blocked.some(fits)
}

// ---- What the model is told ---------------------------------------------------------------------------------------------------------------

const lineOf = (value: unknown): string => typeof value === "string" ? value : ""

/** An answer of `/v1/search`. */
export const foundIn = (answer: Body, bounds: Bounds): string => {
  const results = Array.isArray(answer["results"]) ? answer["results"].filter(Json.isRecord) : []
  const told = results.filter(({ url }) => mayUse(bounds, lineOf(url)))
    .map(({ snippet, title, url }, i) => [`${i + 1}. ${lineOf(title)}`, lineOf(url), lineOf(snippet)].filter((line) => line !== "").join("\n"))
  return told.length === 0 ? "Nothing was found." : told.join("\n\n")
}

/** An answer of `/v1/web/fetch`. */
export const pageIn = (answer: Body, { characters }: Bounds): string => {
  const title = lineOf(recordOf(answer["metadata"])["title"])
  const content = lineOf(answer["content"])
  const cut = content.length <= characters ? content : `${content.slice(0, characters)}\n[${content.length - characters} more characters were left out]`
  return [title, lineOf(answer["url"]), cut].filter((line) => line !== "").join("\n")
}
