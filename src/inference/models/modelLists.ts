/** The model list in the words of clients that do not read the common one: the messages vendor's SDKs, and Codex. Pure. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ModelEntry } from "#src/routing/models/modelCatalog.ts"

/** Entries of one page: what the vendor allows at most, and what a client gets that names no limit. */
const maxLimit = 1_000

const displayName = (entry: ModelEntry): string => entry.name ?? entry.id

/** One model of the messages format. */
export const messagesModel = (entry: ModelEntry) => ({
  type: "model" as const,
  id: entry.id,
  display_name: displayName(entry),
  created_at: new Date(entry.created * 1_000).toISOString(),
  ...(entry.max_input_tokens === undefined ? {} : { max_input_tokens: entry.max_input_tokens }),
  ...(entry.max_output_tokens === undefined ? {} : { max_tokens: entry.max_output_tokens })
})

const refused = (param: string, message: string): PublicError => Errors.make("bad_request", message, { extra: { param } })

/** One page in the messages format, by `limit`, `after_id` and `before_id`. */
export const messagesList = (entries: ReadonlyArray<ModelEntry>, query: URLSearchParams) => {
  const limit = query.get("limit") ?? String(maxLimit)
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > maxLimit) return refused("limit", `Query parameter 'limit' must be a whole number from 1 to ${maxLimit}.`)
  const [after, before] = [query.get("after_id"), query.get("before_id")]
  if (after !== null && before !== null) return refused("before_id", "Query parameters 'after_id' and 'before_id' exclude each other.")
  const cursor = after ?? before
  const at = cursor === null ? -1 : entries.findIndex(({ id }) => id === cursor)
  if (cursor !== null && at === -1) return refused(after === null ? "before_id" : "after_id", `No model has the id '${cursor.slice(0, 120)}' that a page was to begin at.`)
  const rest = before === null ? entries.slice(at + 1) : entries.slice(0, at)
  const page = before === null ? rest.slice(0, Number(limit)) : rest.slice(-Number(limit))
  return {
    data: page.map(messagesModel),
    has_more: page.length < rest.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null
  }
}

/** What Codex tells a model of its list; without a text the model would get no instructions at all. */
const codexInstructions = "You are a coding agent that runs in the Codex CLI on the user's computer. Work on the user's request until it is solved: "
  + "read the files you need, change them with the tools you are given, and check the result by running what the project offers for that. "
  + "Change only what the request needs, keep to the style of the surrounding code, and follow instructions in AGENTS.md files. "
  + "Never undo changes that you did not make. Say briefly what you do before you call tools, and end with a short summary of what changed."

const efforts = ["low", "medium", "high"].map((effort) => ({ effort, description: `${effort} reasoning effort` }))

/** One model as Codex parses it: its parser refuses the whole list when one field without a default is missing. */
const codexModel = (entry: ModelEntry, priority: number) => {
  const thinks = entry.capabilities?.["reasoning"] === true
  return {
    slug: entry.id,
    display_name: displayName(entry),
    description: null,
    default_reasoning_level: thinks ? "medium" : null,
    supported_reasoning_levels: thinks ? efforts : [],
    shell_type: "shell_command",
    visibility: "list",
    supported_in_api: true,
    priority,
    availability_nux: null,
    upgrade: null,
    base_instructions: codexInstructions,
    supports_reasoning_summaries: thinks,
    supports_reasoning_summary_parameter: thinks,
    default_reasoning_summary: "auto",
    support_verbosity: false,
    default_verbosity: null,
    apply_patch_tool_type: "freeform",
    web_search_tool_type: "text",
    truncation_policy: { mode: "bytes", limit: 10_000 },
    supports_parallel_tool_calls: true,
    supports_image_detail_original: false,
    context_window: entry.context_length ?? null,
    auto_compact_token_limit: null,
    effective_context_window_percent: 95,
    experimental_supported_tools: [],
    input_modalities: entry.capabilities?.["vision"] === true ? ["text", "image"] : ["text"],
    supports_search_tool: false
  }
}

export const codexList = (entries: ReadonlyArray<ModelEntry>) => ({ models: entries.map(codexModel) })
