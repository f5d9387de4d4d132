/**
 * Which command a tool ran, and whether its output may be shortened. Only a command line that is understood whole may: whatever could
 * print a file, from which the client may edit, is not. Pure.
 */
import { isRecord } from "#src/wire/json/json.ts"

/** Names that agents give the tool that runs commands. */
const shells = /^(?:bash|shell|sh|zsh|terminal|local_shell|command|exec|exec_command|shell_command|(?:run|execute)_?(?:bash|shell|shell_command|command|cmd|terminal|terminal_cmd|terminal_command|in_terminal)?)$/i
const members = ["command", "cmd", "script", "commandLine", "CommandLine"]
/** Characters; a longer command line is a script. */
const longestCommand = 2_000

/** The command line of a tool call; null when it is no call of a shell. `input`: the arguments, parsed or as JSON. */
export const commandOf = (tool: string, input: unknown): string | null => {
  if (!shells.test(tool)) return null
  const given = typeof input === "string" ? parsed(input) : input
  if (!isRecord(given)) return null
  const name = members.find((one) => given[one] !== undefined)
  return name === undefined ? null : lineOf(given[name])
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Of a command line, or of the words of one; a shell's own line is the last of its words. */
export const lineOf = (command: unknown): string | null => {
  if (typeof command === "string") return command
  if (!Array.isArray(command) || !command.every((word) => typeof word === "string")) return null
  const words = command as ReadonlyArray<string>
  const isShell = /(?:^|\/)(?:bash|sh|zsh)$/.test(words[0] ?? "") && /^-l?c$/.test(words[1] ?? "")
  return isShell ? words[2] ?? null : words.some((word) => /[\s"'|&;<>]/.test(word)) ? null : words.join(" ")
}

/** Substitution, scripts, other files and escapes are not understood. */
const notUnderstood = /[`\\(){}\n<]|\$\(/
const redirection = /\d?>{1,2}(?:&\d|\s*\/dev\/null)/g
/** Print nothing, or nothing that a file holds. */
const silent = new Set(["cd", "pushd", "popd", "export", "set", "true", "mkdir", "touch", "rm", "sleep", "pwd", "echo", "wait", "which"])
/** Pass on a part of what they read. */
const passing = new Set(["head", "tail", "sort", "uniq", "wc", "grep", "egrep"])
const wrappers = new Set(["sudo", "time", "env", "command", "nice", "nohup", "npx", "bunx"])
/** Words that make their programs print files: patches, and objects that can be edited. */
const printsFiles = /^(?:-p|-u|--patch|-oyaml|yaml|-o=yaml|--output=yaml)$/

/** Words of the commands of a line, without wrappers, variables and options, each with whether it reads another one's output. */
interface Part {
  readonly words: ReadonlyArray<string>
  readonly isPiped: boolean
}

const partsOf = (line: string): ReadonlyArray<Part> | null => {
  const plain = line.trim().replace(redirection, " ")
  if (line.length > longestCommand || notUnderstood.test(plain) || plain.includes(">")) return null
  const parts: Array<Part> = []
  let words: Array<string> = []
  let isPiped = false
  for (const token of plain.match(/"[^"]*"|'[^']*'|&&|\|\||[|;&]|[^\s"'|;&]+|["']/g) ?? []) {
    if (token === "\"" || token === "'") return null
    if (/^(?:&&|\|\||[|;&])$/.test(token)) {
      parts.push({ words, isPiped })
      words = []
      isPiped = token === "|"
    } else words.push(token)
  }
  return [...parts, { words, isPiped }].filter(({ words: own }) => own.length > 0)
}

/** The program and its subcommands and operands. */
const bare = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  let rest = words
  for (;;) {
    const [first = "", second = ""] = rest
    if (/^[A-Za-z_]\w*=/.test(first) || wrappers.has(first)) rest = rest.slice(1)
    else if (first === "timeout") rest = rest.slice(2)
    else if ((first === "uv" || first === "poetry") && second === "run") rest = rest.slice(2)
    else if ((first === "pnpm" || first === "yarn" || first === "npm") && (second === "exec" || second === "dlx")) rest = rest.slice(2)
    else if (/^python[\d.]*$/.test(first) && second === "-m") rest = rest.slice(2)
    else break
  }
  const [program = "", ...operands] = rest
  const named: Array<string> = [program.slice(program.lastIndexOf("/") + 1)]
  for (let i = 0; i < operands.length; i++) {
    const word = operands[i] as string
    if (word === "-C" || word === "-c" || word === "--prefix" || word === "-n" || word === "--namespace" || word === "-f") i++
    else if (!/^[-+]/.test(word)) named.push(word)
  }
  return named
}

/** A part of a pipe that reads no file of its own. */
const passes = ({ isPiped, words }: Part): boolean => {
  const [program = "", ...operands] = bare(words)
  if (!isPiped || !passing.has(program)) return false
  return operands.filter((word) => !/^\d+$/.test(word)).length <= (program.endsWith("grep") ? 1 : 0)
}

/** The words of the one command whose output a line prints; null where that is not sure. */
export const printedBy = (line: string): ReadonlyArray<string> | null => {
  const parts = partsOf(line)
  if (parts === null || parts.some(({ words }) => words.some((word) => printsFiles.test(word)))) return null
  const printing = parts.filter((part) => !passes(part) && !silent.has(bare(part.words)[0] ?? ""))
  const first = printing[0]
  return printing.length !== 1 || first === undefined || first.isPiped ? null : bare(first.words)
}

/** The text is one JSON value. */
export const isJson = (text: string): boolean => /^\s*[[{]/.test(text) && parsed(text) !== null
