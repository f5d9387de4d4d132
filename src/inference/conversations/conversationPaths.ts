/** What the paths of conversation endpoints state beside the body: a model and a method. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as Paths from "#src/inference/lane/paths.ts"

type Body = Readonly<Record<string, unknown>>

/** The vendor's client uses `v1` unless configured otherwise. */
const generatePrefixes = ["/v1beta/models/", "/v1/models/"]

export type GenerateMethod = "generateContent" | "streamGenerateContent" | "countTokens"

const methods: ReadonlyArray<GenerateMethod> = ["generateContent", "streamGenerateContent", "countTokens"]

/** `/v1beta/models/{model}:{method}`, or with `v1`; the model may hold slashes and colons. Null for another path. */
export const generateTarget = (path: string): { readonly model: string; readonly method: GenerateMethod } | null => {
  const prefix = generatePrefixes.find((one) => path.startsWith(one))
  if (prefix === undefined) return null
  const colon = path.lastIndexOf(":")
  const method = methods.find((name) => name === path.slice(colon + 1))
  const model = colon > prefix.length ? Paths.decoded(path.slice(prefix.length, colon)) : null
  return method === undefined || model === null ? null : { model, method }
}

/** The members that the path says: `model` and `stream`. */
export const ofGenerate = (path: string): Body | PublicError => {
  const target = generateTarget(path)
  return target === null
    ? Errors.make("unknown_route", `Unknown route: POST ${path.slice(0, 512)}`, { extra: { path: path.slice(0, 512) } })
    : { model: target.model, stream: target.method === "streamGenerateContent" }
}
