/**
 * Fenced code in what users and models say: output of commands below a line `$ command` as a tool's output is said, and code without its
 * comments. Everything outside of the fences stays. A shortened text stays as it is. Pure, in linear time.
 */
import type { Role, RtkConfig } from "#schemas/words/Compression.ts"
import * as Masking from "#src/compression/masking.ts"
import * as Rtk from "#src/compression/rtk/rtk.ts"
import * as Comments from "./comments.ts"

const opening = /^ {0,3}(?:`{3,}|~{3,})[ \t]*([\w+#.-]{0,30})/
const prompt = /^\$ (.+)$/
/** Fences that show a terminal; empty = the fence names no language. */
const terminals: ReadonlySet<string> = new Set(["", "console", "shell", "sh", "bash", "zsh", "shell-session", "sh-session", "shellsession", "terminal", "text", "txt"])
const never = (): boolean => false

export const appliesTo = (role: Role, { applyToAssistantMessages, applyToCodeBlocks }: RtkConfig): boolean =>
  role === "user" ? applyToCodeBlocks : role === "assistant" && applyToAssistantMessages

export interface Said {
  readonly text: string
  readonly techniques: ReadonlyArray<string>
  readonly errors: ReadonlyArray<string>
}

/** Each command with its output; what stands before the first one stays. */
const transcript = (code: string, options: Rtk.Options): string => {
  const out: Array<string> = []
  let command: string | null = null
  let output: Array<string> = []
  const flush = (): void => {
    if (output.length === 0) return
    const text = output.join("\n")
    const filter = Rtk.filterOf(command, text, options.config)
    out.push(filter === null || !Rtk.allows(options.config, filter) ? text : Rtk.shorten(text, filter, options).text)
    output = []
  }
  for (const line of code.split("\n")) {
    const said = prompt.exec(line)?.[1]
    if (said === undefined) output.push(line)
    else {
      flush()
      command = said
      out.push(line)
    }
  }
  flush()
  return out.join("\n")
}

/** A block with its fences; one that is not closed stays. */
const ofBlock = (block: string, options: Rtk.Options): string => {
  const lines = block.split("\n")
  const [first = ""] = lines
  const last = lines.at(-1) ?? ""
  const language = opening.exec(first)?.[1]?.toLowerCase()
  if (language === undefined || lines.length < 3 || !/^ {0,3}(?:`{3,}|~{3,})\s*$/.test(last)) return block
  const code = lines.slice(1, -1).join("\n")
  const { config } = options
  const plain = config.stripCodeComments ? Comments.strip(code, language, config.preserveDocstrings) : code
  const short = terminals.has(language) ? transcript(plain, options) : plain
  return short === code ? block : short === "" ? `${first}\n${last}` : `${first}\n${short}\n${last}`
}

const differs = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean => a.length !== b.length || a.some((one, i) => one !== b[i])

export const shorten = (text: string, options: Rtk.Options): Said => {
  const same = (errors: ReadonlyArray<string> = []): Said => ({ text, techniques: [], errors })
  if (!text.includes("```") && !text.includes("~~~")) return same()
  const masked = Masking.mask(text, never)
  if (masked === null || masked.fences.length === 0) return same()
  const fences = new Set(masked.fences)
  const said = Masking.unmask(masked.text, masked.kept.map((piece) => fences.has(piece) ? ofBlock(piece, options) : piece))
  if (said === text) return same()
  const now = Masking.mask(said, never)
  const errors = [
    ...now === null || now.fences.length !== masked.fences.length || now.text !== masked.text ? ["Text outside of fenced code differs."] : [],
    ...differs(Masking.urlsIn(text), Masking.urlsIn(said)) ? ["URLs differ."] : [], ...said.length > text.length ? ["The text grew."] : []
  ]
  return errors.length > 0 ? same(errors) : { text: said, techniques: ["fenced_code"], errors }
}
