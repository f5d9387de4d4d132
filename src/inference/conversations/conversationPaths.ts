/** What the paths of conversation endpoints state beside the body: a model, a provider, a key. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"

type Body = Readonly<Record<string, unknown>>

/** The `index`-th segment of a path, decoded; null when it holds broken escapes. */
export const segment = (path: string, index: number): string | null => decoded(path.split("/")[index] ?? "")

const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** The vendor's client asks for `v1` unless it is told otherwise. */
const generatePrefixes = ["/v1beta/models/", "/v1/models/"]

export type GenerateMethod = "generateContent" | "streamGenerateContent" | "countTokens"

const methods: ReadonlyArray<GenerateMethod> = ["generateContent", "streamGenerateContent", "countTokens"]

/** `/v1beta/models/{model}:{method}`, or with `v1`; the model may hold slashes and colons. Null for another path. */
export const generateTarget = (path: string): { readonly model: string; readonly method: GenerateMethod } | null => {
  const prefix = generatePrefixes.find((one) => path.startsWith(one))
  if (prefix === undefined) return null
  const colon = path.lastIndexOf(":")
  const method = methods.find((name) => name === path.slice(colon + 1))
  const model = colon > prefix.length ? decoded(path.slice(prefix.length, colon)) : null
  return method === undefined || model === null ? null : { model, method }
}

/** The members that the path says: `model` and `stream`. */
export const ofGenerate = (path: string): Body | PublicError => {
  const target = generateTarget(path)
  return target === null
    ? Errors.make("unknown_route", `Unknown route: POST ${path.slice(0, 512)}`, { extra: { path: path.slice(0, 512) } })
    : { model: target.model, stream: target.method === "streamGenerateContent" }
}

/**
 * `/v1/providers/{provider}/...`: the provider is put in front of a model without it; a model of another provider is a mistake.
 * `aliasOf` answers the canonical id of a prefix, or null when no provider has it.
 */
export const ofProvider = (path: string, body: Body, aliasOf: (prefix: string) => string | null): Body | PublicError => {
  const provider = segment(path, 3) ?? ""
  const canonical = aliasOf(provider)
  if (canonical === null) return Errors.make("model_not_found", `There is no provider '${provider.slice(0, 120)}': see GET /v1/models.`)
  const { model } = body
  if (typeof model !== "string" || model === "") return {}
  const slash = model.indexOf("/")
  const prefix = slash <= 0 ? null : aliasOf(model.slice(0, slash))
  if (prefix === canonical) return {}
  if (prefix !== null) {
    return Errors.make("model_mismatch", `Model '${model.slice(0, 200)}' is not one of provider '${provider.slice(0, 120)}', which this path is for.`, {
      extra: { param: "model" }
    })
  }
  return { model: `${provider}/${model}` }
}
