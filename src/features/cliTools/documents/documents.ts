/** The formats of configuration files, and what replies may show of them. Pure. */
import * as Result from "effect/Result"
import { isSecretName, REDACTED } from "#src/management/redact.ts"
import { type Change, type Contents, type Format, type Leaf, nameOf, type Path, spliced, Unkept } from "./Document.ts"
import { dotenv } from "./dotenv.ts"
import { jsonc } from "./jsonc.ts"
import { toml } from "./toml.ts"

const formats = { json: jsonc, toml, env: dotenv } as const satisfies Readonly<Record<string, Format>>
export type FormatName = keyof typeof formats

/** Why it is refused reads on after the name of the file. */
const refused = <A>(make: () => A): Result.Result<A, string> => {
  try {
    return Result.succeed(make())
  } catch (error) {
    if (error instanceof Unkept) return Result.fail(error.message)
    throw error
  }
}

export const read = (format: FormatName, text: string): Result.Result<Contents, string> => refused(() => formats[format].read(text))

/** The text with all changes, everything else character for character as it was; or why it cannot be kept so. */
export const changed = (format: FormatName, text: string, changes: ReadonlyArray<Change>): Result.Result<string, string> =>
  refused(() => {
    formats[format].read(text)
    return changes.reduce((edited, change) => formats[format].change(edited, change), text)
  })

export const leafAt = ({ leaves }: Contents, path: Path): Leaf | null => leaves.findLast((leaf) => nameOf(leaf.path) === nameOf(path) && leaf.path.length === path.length) ?? null

/** An address without its user, password, query and fragment; null for what is none. */
export const bareUrl = (text: string): string | null => {
  const url = URL.parse(text)
  return url === null || !/^https?:$/.test(url.protocol) ? null : `${url.origin}${url.pathname.replace(/\/+$/, "")}`
}

const isShown = ({ path, value }: Leaf, own: ReadonlyArray<Path>): boolean =>
  own.some((one) => one.every((name, i) => name === path[i])) && !path.some(isSecretName) && (!value.includes("://") || bareUrl(value) === value.replace(/\/+$/, ""))

/**
 * A text as replies show it. Any text in it may be a credential of another program, so only those below `own` are shown that hold
 * none; of the others, and of comments, it shows that they stand there.
 */
export const masked = (format: FormatName, text: string, own: ReadonlyArray<Path>): Result.Result<string, string> => refused(() => {
  const { hidden, read: readText } = formats[format]
  const { comments, leaves } = readText(text)
  return spliced(text,
    ...leaves.filter((leaf) => (leaf.isText ? leaf.value !== "" && !isShown(leaf, own) : leaf.path.some(isSecretName))).map(({ from, to }) => ({ from, to, put: hidden })),
    ...comments.map(({ from, to }) => {
      const comment = text.slice(from, to)
      const mark = /^(?:\/\/|\/\*|#)/.exec(comment)?.[0] ?? ""
      return { from, to, put: `${mark}${mark === "" ? "" : " "}${REDACTED}${mark === "/*" ? " */" : ""}` }
    })
  )
})
