/** The setting `systemPrompt`: texts that stand around the instructions of every conversation. */
import * as Schema from "effect/Schema"

/** Characters of one text. */
const mostCharacters = 50_000

const words = Schema.String.check(Schema.isMaxLength(mostCharacters))

export const SystemPromptSettings = Schema.Struct({
  enabled: Schema.Boolean,
  /** The older field: stands behind the client's instructions, as suffixPrompt does. */
  prompt: words,
  /** Before the client's instructions. */
  prefixPrompt: words,
  /** Behind the client's instructions. */
  suffixPrompt: words
})
export interface SystemPromptSettings extends Schema.Schema.Type<typeof SystemPromptSettings> {}

/** Under this name among the settings. */
export const settingKey = "systemPrompt"

const systemPromptDefaults: SystemPromptSettings = { enabled: false, prompt: "", prefixPrompt: "", suffixPrompt: "" }

/** The effective settings; a member that is no longer allowed has its default. */
export const systemPromptOf = (settings: ReadonlyMap<string, unknown>): SystemPromptSettings => {
  const stored = settings.get(settingKey)
  if (typeof stored !== "object" || stored === null) return systemPromptDefaults
  const { enabled, prefixPrompt, prompt, suffixPrompt } = stored as { readonly [Name in keyof SystemPromptSettings]?: unknown }
  const textOr = (value: unknown): string => typeof value === "string" ? value : ""
  return { enabled: enabled === true, prompt: textOr(prompt), prefixPrompt: textOr(prefixPrompt), suffixPrompt: textOr(suffixPrompt) }
}
