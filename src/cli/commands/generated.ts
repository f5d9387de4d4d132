/** Files of the repository that are made from the sources: written by one command, compared by `--check` and by a test. */
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { messageOf } from "#actors/thrown.ts"
import { failure } from "#src/cli/Failure.ts"

/** The repository's root. */
export const root = fileURLToPath(new URL("../../..", import.meta.url))

export interface Generated {
  /** Absolute, or relative to the working directory. */
  readonly file: string
  readonly content: string
  /** The command that writes it. */
  readonly command: string
}

const read = (file: string): string | null => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return null
  }
}

export const writeOrCheck = (made: Generated, check: boolean) =>
  Effect.suspend((): Effect.Effect<void, ReturnType<typeof failure>> => {
    const file = path.resolve(made.file)
    const same = read(file) === made.content
    if (check) {
      return same ? Console.log(`${file} is up to date`) : Effect.fail(failure(`${file} is not what the sources say. Run \`${made.command}\` and commit it.`))
    }
    if (same) return Console.log(`${file} is up to date`)
    return Effect.try({
      try: () => fs.writeFileSync(file, made.content),
      catch: (error) => failure(`${file} cannot be written: ${messageOf(error)}`)
    }).pipe(Effect.andThen(Console.log(`wrote ${file}`)))
  })
