/** Puts variables into the text of a `.env` file that has no value for them. Everything else stays as it is. Pure. */
import { parseEnv } from "node:util"

/** A value that needs no quotes. */
const plain = /^[\w./:@+~=-]+$/

/** Null where the file's form has no way to say it. */
const written = (value: string): string | null => {
  if (plain.test(value)) return value
  const quote = ["'", "\"", "`"].find((one) => !value.includes(one))
  return quote === undefined || /[\r\n\\]/.test(value) ? null : `${quote}${value}${quote}`
}

/** The reader takes `export` for a part of the name of a variable without a value. */
const variablesOf = (text: string): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(parseEnv(text)).map(([name, value]) => [name.replace(/^export /, ""), value]))

/** Whether the text gives the variable a value. */
export const isSet = (text: string, name: string): boolean => {
  const variables = variablesOf(text)
  return Object.hasOwn(variables, name) && variables[name] !== ""
}

/** The text with the variable; null where its reader would not read exactly this value, or anything else differently. */
export const withVariable = (text: string, name: string, value: string): string | null => {
  const said = written(value)
  if (said === null) return null
  const lines = text.split("\n")
  const empty = lines.findIndex((line) => new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=\\s*$`).test(line))
  const newline = text.includes("\r\n") ? "\r\n" : "\n"
  const after = empty < 0
    ? `${text}${text === "" || text.endsWith("\n") ? "" : newline}${name}=${said}${newline}`
    : lines.map((line, i) => i === empty ? `${line.trimEnd()}${said}${line.endsWith("\r") ? "\r" : ""}` : line).join("\n")
  const [before, read] = [variablesOf(text), variablesOf(after)]
  const names = new Set([...Object.keys(before), ...Object.keys(read)])
  for (const one of names) if (read[one] !== (one === name ? value : before[one])) return null
  return after
}
