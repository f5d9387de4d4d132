/**
 * The model lists of the vendors: `GET /v1/models`, `/v1beta/models`, `/api/tags`, and one entry of the first two.
 */
const CREATED = 1_735_689_600
const MODIFIED = "2025-01-01T00:00:00.000Z"
const INPUT_LIMIT = 128_000
const OUTPUT_LIMIT = 8192

interface Catalogue {
  readonly path: string
  /** Entries can be asked for one by one, below `path`. */
  readonly single: boolean
  readonly list: (entries: ReadonlyArray<object>) => object
  readonly entry: (id: string) => object
}

const CATALOGUES: ReadonlyArray<Catalogue> = [
  {
    path: "/v1/models",
    single: true,
    list: (data) => ({ object: "list", data }),
    entry: (id) => ({ id, object: "model", created: CREATED, owned_by: "sim" })
  },
  {
    path: "/v1beta/models",
    single: true,
    list: (models) => ({ models }),
    entry: (id) => ({
      name: `models/${id}`,
      displayName: id,
      inputTokenLimit: INPUT_LIMIT,
      outputTokenLimit: OUTPUT_LIMIT,
      supportedGenerationMethods: ["generateContent", "countTokens"]
    })
  },
  {
    path: "/api/tags",
    single: false,
    list: (models) => ({ models }),
    entry: (id) => ({
      name: id,
      model: id,
      modified_at: MODIFIED,
      size: 1,
      digest: "0".repeat(64),
      details: { format: "sim", family: "sim", families: ["sim"], parameter_size: "0B", quantization_level: "none" }
    })
  }
]

const catalogueAt = (path: string): Catalogue | undefined =>
  CATALOGUES.find((one) => path === one.path || (one.single && path.startsWith(`${one.path}/`)))

export const isCatalogue = (path: string): boolean => catalogueAt(path) !== undefined

/** The body of a list or of one entry; null when there is no such model. */
export const catalogue = (path: string, ids: ReadonlyArray<string>, exists: (id: string) => boolean): object | null => {
  const found = catalogueAt(path)
  if (found === undefined) return null
  if (path === found.path) return found.list(ids.map(found.entry))
  const id = path.slice(found.path.length + 1).replaceAll("%40", "@")
  return exists(id) ? found.entry(id) : null
}
