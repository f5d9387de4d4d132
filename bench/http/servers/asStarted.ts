/** How `npm start` runs Node: what is measured and what is tested as a process is what an operator runs. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

export interface Started {
  /** Node's flags, such as `--max-semi-space-size=16`. */
  readonly flags: ReadonlyArray<string>
  /** The variables of the C library. */
  readonly env: Readonly<Record<string, string>>
}

/** Reads package.json of a checkout. A file among the flags becomes its URL: a flag means the same in any directory. */
export const asStarted = (checkout: string): Started => {
  const { scripts } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as { readonly scripts: { readonly start: string } }
  const words = scripts.start.split(" ")
  return {
    flags: words.filter((word) => word.startsWith("--")).map((word) => word.replace(/=(\.\/.*)$/, (_, file: string) => `=${pathToFileURL(join(checkout, file)).href}`)),
    env: Object.fromEntries(words.flatMap((word) => {
      const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(word) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    }))
  }
}
