/** What the paths of inference endpoints state beside the body: a provider, a key. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import { noThinkingLength } from "#src/routing/models/resolveModel.ts"

type Body = Readonly<Record<string, unknown>>

/** The `index`-th segment of a path, decoded; null when it holds broken escapes. */
export const segment = (path: string, index: number): string | null => decoded(path.split("/")[index] ?? "")

/** The text without percent escapes; null when one is broken. */
export const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/**
 * `/v1/providers/{provider}/...`: the provider is put in front of a model without it; a model of another provider is a mistake.
 * The prefix of an id without thinking stays in front of both.
 * `aliasOf` answers the canonical id of a prefix, or null when no provider has it.
 */
export const ofProvider = (path: string, body: Body, aliasOf: (prefix: string) => string | null): Body | PublicError => {
  const provider = segment(path, 3) ?? ""
  const canonical = aliasOf(provider)
  if (canonical === null) return Errors.make("model_not_found", `There is no provider '${provider.slice(0, 120)}': see GET /v1/models.`)
  const { model } = body
  if (typeof model !== "string" || model === "") return {}
  const start = noThinkingLength(model)
  const slash = model.indexOf("/", start)
  const prefix = slash <= start ? null : aliasOf(model.slice(start, slash))
  if (prefix === canonical) return {}
  if (prefix !== null) {
    return Errors.make("model_mismatch", `Model '${model.slice(0, 200)}' is not one of provider '${provider.slice(0, 120)}', which this path is for.`, {
      extra: { param: "model" }
    })
  }
  return { model: `${model.slice(0, start)}${provider}/${model.slice(start)}` }
}
