/** Requests that agents and chat pages send beside a person's: titles, summaries, suggestions, probes. Pure. */
import { plain } from "./Matcher.ts"
import type { Said } from "./reading.ts"

/** Why a request is one in the background; `header`: its client says so; `pattern`: an operator's phrase. */
export const reasons = ["header", "title", "summary", "suggestions", "token_probe", "pattern"] as const
export type BackgroundReason = typeof reasons[number]

/** Tokens of an answer that only probes ask for, and characters of their words. */
const PROBE_TOKENS = 5
const PROBE_CHARACTERS = 64

/** About a conversation, in the words of agents and chat pages; between two words stands little. */
const subject = "(?:conversation|chat|thread|session|discussion|dialogue|unterhaltung|gespräch|sitzung|conversación|charla|sesión|discussion|échange|conversa|conversação|sessão|对话|会话|聊天)"
const title = "(?:title|name|headline|topic|titel|überschrift|título|titulo|titre|标题|题目)"
const make = "(?:generate|create|write|suggest|give|output|come up with|generier\\p{L}*|erstell\\p{L}*|schreib\\p{L}*|genera|crea|escribe|génère|crée|écris|gere|crie|escreva|生成|创建|写)"
const summary = "(?:summary|summarize|summarise|recap|compact|zusammenfassung|zusammenfass\\p{L}*|fasse|resumen|resume|résumé|résume\\p{L}*|resumo|resuma|总结|摘要)"
/** At most this much stands between two words that belong together. */
const near = "[^\\n]{0,80}?"

const titles: ReadonlyArray<RegExp> = [
  new RegExp(`${make}${near}${title}${near}${subject}`, "u"),
  new RegExp(`${subject}${near}${make}${near}${title}`, "u"),
  new RegExp(`(?:为|给)${near}${subject}${near}${title}`, "u"),
  /\byou are a title generator\b/,
  /\banalyze if this message indicates a new conversation topic\b/,
  /\bsummarize this (?:coding )?conversation in under \d{1,3} characters\b/,
  /\bgenerate a concise, 3-5 word title\b/,
  /\bwrite a \d{1,2}-\d{1,2} word title\b/
]
const suggestions: ReadonlyArray<RegExp> = [
  /\bgenerate 1-3 broad tags categorizing the main themes\b/,
  /\bsuggest (?:\d-\d|\d|three|five|some) (?:relevant )?follow-?up (?:questions|prompts)\b/,
  /\b(?:generate|suggest) (?:an )?(?:autocompletion|search queries) (?:for|based on)\b/
]
const summaries: ReadonlyArray<RegExp> = [
  new RegExp(`${summary}${near}(?:this|the|our|dieser|diese|das|esta|de la|cette|de cette|desta|本次|这段|以上)?${near}${subject}${near}(?:so far|history|above|below|bisher|hasta ahora|jusqu'ici|até agora|历史|内容|$)`, "mu"),
  new RegExp(`(?:把|将|对)${near}${subject}${near}${summary}`, "u")
]

/** Characters of each text in which a phrase is looked for. */
const READ = 2_048

const says = (patterns: ReadonlyArray<RegExp>, instructions: string, text: string): boolean =>
  patterns.some((pattern) => pattern.test(instructions) || pattern.test(text))

/** `phrases`: an operator's, as `plain` makes them; `named`: the client says so itself. */
export const reasonOf = ({ instructions, length, maxTokens, text, tools }: Said, phrases: ReadonlyArray<string>, named: boolean): BackgroundReason | null => {
  if (named) return "header"
  if (maxTokens !== null && maxTokens <= PROBE_TOKENS && length <= PROBE_CHARACTERS && tools.length === 0) return "token_probe"
  const [said, told] = [plain(text.slice(0, READ)), plain(instructions.slice(0, READ))]
  if (phrases.some((phrase) => said.includes(phrase) || told.includes(phrase))) return "pattern"
  if (tools.length > 0) return null
  if (says(titles, told, said)) return "title"
  if (says(suggestions, told, said)) return "suggestions"
  return says(summaries, told, said) ? "summary" : null
}
