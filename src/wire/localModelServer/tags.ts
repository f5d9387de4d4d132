/** What clients of a local model server ask before they chat: model list, version and model details. */

/** A model as the catalogue knows it; null members are not known. */
export interface ListedModel {
  /** The id that a client sends as `model`. */
  readonly id: string
  readonly provider: string
  /** Seconds since the epoch. */
  readonly createdAt: number | null
  readonly contextLength: number | null
  readonly maxOutputTokens: number | null
  readonly tools: boolean
  readonly vision: boolean
  readonly thinking: boolean
}

/** The oldest server that clients with tools, thinking and structured output accept is 0.6.4. */
export const apiVersion = "0.12.6"

const detailsOf = (model: ListedModel) => ({
  parent_model: "", format: "remote", family: model.provider, families: [model.provider], parameter_size: "", quantization_level: ""
})

const modifiedAt = (model: ListedModel): string => new Date((model.createdAt ?? 0) * 1000).toISOString()

/** A digest that is the same for the same id: clients cache by it; 64 hex digits. */
const digestOf = (id: string): string => {
  let text = ""
  for (let round = 0; round < 8; round++) {
    let state = 0x811c9dc5 ^ round
    for (let i = 0; i < id.length; i++) state = Math.imul(state ^ id.charCodeAt(i), 0x01000193)
    text += (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0).toString(16).padStart(8, "0")
  }
  return text
}

/** Body of `GET /api/tags`. */
export const tags = (models: ReadonlyArray<ListedModel>) => ({
  models: models.map((model) => ({
    name: model.id, model: model.id, modified_at: modifiedAt(model), size: 0, digest: digestOf(model.id), details: detailsOf(model)
  }))
})

/** Body of `GET /api/version`. */
export const version = () => ({ version: apiVersion })

/** Body of `POST /api/show`. */
export const show = (model: ListedModel) => ({
  license: "",
  modelfile: "",
  parameters: "",
  template: "",
  details: detailsOf(model),
  model_info: {
    "general.architecture": model.provider,
    "general.basename": model.id,
    ...(model.contextLength === null ? {} : { [`${model.provider}.context_length`]: model.contextLength })
  },
  capabilities: [
    "completion", ...(model.tools ? ["tools"] : []), ...(model.vision ? ["vision"] : []), ...(model.thinking ? ["thinking"] : [])
  ],
  modified_at: modifiedAt(model)
})

/** The model that a body of `POST /api/show` asks for (`name` in older clients); null when it names none. */
export const shown = (body: Readonly<Record<string, unknown>>): string | null => {
  const name = body["model"] ?? body["name"]
  return typeof name === "string" && name !== "" ? name : null
}
