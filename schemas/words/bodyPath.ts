/**
 * A place in the body of a request, as the rules of operators write it: names and indexes with dots between them (`reasoning.effort`,
 * `tools.0.name`), the paths that `sjson` of Go takes. `\` keeps the next character as it is, `:` before a number makes it a name, and
 * `-1` is the place behind the last item of a list. Pure.
 */
import * as Schema from "effect/Schema"

/** Names and indexes from the body on, the outermost first. */
export type BodyPath = ReadonlyArray<string | number>

/** Characters of a path. */
const longest = 500
/** Steps of a path. */
const deepest = 16
/** What reads or writes several places, or computes something, in the language that these paths are a part of. */
const several = /[*?#|@!{}[\]()<>=%"]/

const numbered = /^(?:-1|0|[1-9]\d{0,8})$/

/** Members that the gateway itself answers for: what is called, how it is read, and whether an upstream counts its tokens. */
const kept: ReadonlySet<string> = new Set(["model", "stream", "stream_options"])

const stepOf = (text: string): string | number => numbered.test(text) ? Number(text) : /^:-?\d+$/.test(text) ? text.slice(1) : text

/** The steps as they are written, without the escapes; null when one of them means several places. */
const written = (path: string): ReadonlyArray<string | number> | null => {
  const steps: Array<string | number> = []
  let step = ""
  let escaped = false
  for (let i = 0; i < path.length; i++) {
    const char = path.charAt(i)
    if (char === "\\") {
      if (++i === path.length) return null
      step += path.charAt(i)
      escaped = true
    } else if (char === ".") {
      steps.push(escaped ? step : stepOf(step))
      step = ""
      escaped = false
    } else if (several.test(char)) return null
    else step += char
  }
  return [...steps, escaped ? step : stepOf(step)]
}

/** Why a rule may not name the path; undefined = it may. `puts`: it puts a value there. */
const problemOf = (path: string, puts: boolean): string | undefined => {
  const steps = written(path)
  if (steps === null || steps.length > deepest || steps.some((step) => step === "")) {
    return `Expected names and indexes with dots between them, at most ${deepest}, such as reasoning.effort; not '${path}'`
  }
  if (!puts && steps.includes(-1)) return `'${path}' is a place behind a list: nothing can be removed there`
  return isKept(steps) ? `No rule may change '${String(steps[0])}': the gateway answers for it` : undefined
}

/** The path leads into a member that no rule changes; some servers read names in any case. */
export const isKept = ([first]: BodyPath): boolean => kept.has(String(first).toLowerCase())

/** The steps of a path that was checked; null when it is none. */
export const parse = (path: string): BodyPath | null => problemOf(path, true) === undefined ? written(path) : null

/** The same for a rule that removes. */
export const parseRemoved = (path: string): BodyPath | null => problemOf(path, false) === undefined ? written(path) : null

/** A path whose value goes. */
export const Removed = Schema.String.check(Schema.isMaxLength(longest), Schema.makeFilter((path: string) => problemOf(path, false)))

/** The problems of the paths that the keys of a record are. */
const keyProblems = (params: Readonly<Record<string, unknown>>): ReadonlyArray<Schema.FilterIssue> =>
  Object.keys(params).flatMap((path) => {
    const issue = path.length > longest ? `Expected at most ${longest} characters` : problemOf(path, true)
    return issue === undefined ? [] : [{ path: [path], issue }]
  })

/** Values by the paths that they are put at. */
export const valuesOf = <Value extends Schema.Constraint>(value: Value, most: number) =>
  Schema.Record(Schema.String, value).check(Schema.isMaxProperties(most), Schema.makeFilter(keyProblems))
