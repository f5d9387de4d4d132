/** What the paths of Google's embedding methods say: a model and a method. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as Paths from "#src/inference/lane/paths.ts"

/** `/v1beta/models/{model}:embedContent` and `:batchEmbedContents`, or with `v1`; the model may hold slashes and colons. */
const pattern = /^\/v1(?:beta)?\/models\/(.+):(?:embedContent|batchEmbedContents)$/

/** Whether a path asks for embeddings. */
export const isEmbedding = (path: string): boolean => pattern.test(path)

/** The member that the path says. */
export const ofPath = (path: string): Readonly<Record<string, unknown>> | PublicError => {
  const model = Paths.decoded(pattern.exec(path)?.[1] ?? "")
  return model === null
    ? Errors.make("unknown_route", `Unknown route: POST ${path.slice(0, 512)}`, { extra: { path: path.slice(0, 512) } })
    : { model }
}
