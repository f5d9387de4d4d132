/** Ledger rows in the words of the OpenTelemetry GenAI semantic conventions. Pure. */
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

/** Histogram series of the GenAI metrics. */
export const SERIES_MAX = 600

/** Well-known values of gen_ai.provider.name that differ from our provider ids. */
const PROVIDERS: Readonly<Record<string, string>> = {
  gemini: "gcp.gemini",
  google: "gcp.gemini",
  vertex: "gcp.vertex_ai",
  azure: "azure.ai.openai",
  "azure-openai": "azure.ai.openai",
  bedrock: "aws.bedrock",
  mistral: "mistral_ai",
  xai: "x_ai",
  watsonx: "ibm.watsonx.ai",
  moonshot: "moonshot_ai"
}

/** The operation of an endpoint. */
export const operation = (endpoint: string): string =>
  endpoint.includes("embeddings") ? "embeddings" : endpoint.endsWith("/completions") && !endpoint.includes("chat") ? "text_completion" : endpoint.includes("enerateContent") ? "generate_content" : "chat"

export const providerName = (provider: string): string => PROVIDERS[provider] ?? provider

/** Low-cardinality error class; null for a success. */
export const errorType = (row: LedgerRow): string | null =>
  row.outcome === "completed" ? null : row.errorCode ?? (row.phase === null ? row.outcome : `${row.outcome}:${row.phase}`)

/** Attributes of an attempt's client span. */
export const attributes = (row: LedgerRow): ReadonlyArray<readonly [string, unknown]> => {
  const all: Array<readonly [string, unknown]> = [
    ["gen_ai.operation.name", operation(row.endpoint)],
    ["gen_ai.provider.name", providerName(row.provider)],
    // The name that older collectors know; replaced by gen_ai.provider.name.
    ["gen_ai.system", row.provider],
    ["gen_ai.request.model", row.model],
    ["gen_ai.usage.input_tokens", row.tokensIn],
    ["gen_ai.usage.output_tokens", row.tokensOut],
    ["gateway.request_id", row.requestId],
    ["gateway.attempt_id", row.attemptId],
    ["gateway.attempt", row.attempt],
    ["gateway.requested_model", row.requestedModel],
    ["gateway.outcome", row.outcome],
    ["gateway.status", row.status],
    ["gateway.cost_usd", row.costUsd],
    ["gateway.usage_estimated", row.estimated],
    ["gateway.stream", row.stream]
  ]
  if (row.tokensCacheRead > 0) all.push(["gen_ai.usage.cache_read.input_tokens", row.tokensCacheRead])
  if (row.tokensCacheCreation > 0) all.push(["gen_ai.usage.cache_creation.input_tokens", row.tokensCacheCreation])
  if (row.tokensReasoning > 0) all.push(["gen_ai.usage.reasoning.output_tokens", row.tokensReasoning])
  if (row.upstreamStatus > 0) all.push(["http.response.status_code", row.upstreamStatus])
  if (row.units !== null) for (const [unit, amount] of Object.entries(row.units)) all.push([`gateway.units.${unit}`, amount])
  if (row.ttftMs !== null) all.push(["gateway.time_to_first_token_ms", row.ttftMs])
  if (row.connectionId !== null) all.push(["gateway.connection_id", row.connectionId])
  if (row.apiKeyId !== null) all.push(["gateway.api_key_id", row.apiKeyId])
  if (row.combo !== null) all.push(["gateway.combo", row.combo])
  const error = errorType(row)
  if (error !== null) all.push(["error.type", error])
  return all
}

export interface Measurement {
  readonly name: string
  readonly description: string
  readonly boundaries: ReadonlyArray<number>
  readonly attributes: Readonly<Record<string, string>>
  readonly value: number
}

/** Bucket bounds that the conventions recommend. */
const TOKEN_BOUNDS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]
const SECOND_BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]

/** The conventions' client metrics of one attempt. Estimated tokens are no measurement, so they are left out. */
export const measurements = (row: LedgerRow): ReadonlyArray<Measurement> => {
  const base = {
    "gen_ai.operation.name": operation(row.endpoint),
    "gen_ai.provider.name": providerName(row.provider),
    "gen_ai.request.model": row.model
  }
  const error = errorType(row)
  const list: Array<Measurement> = [{
    name: "gen_ai.client.operation.duration",
    description: "GenAI operation duration in seconds.",
    boundaries: SECOND_BOUNDS,
    attributes: error === null ? base : { ...base, "error.type": error },
    value: row.latencyMs / 1000
  }]
  if (row.ttftMs !== null && row.stream) {
    list.push({
      name: "gen_ai.client.operation.time_to_first_chunk",
      description: "Time to the first content chunk in seconds.",
      boundaries: SECOND_BOUNDS,
      attributes: base,
      value: row.ttftMs / 1000
    })
  }
  if (row.estimated) return list
  for (const [type, value] of [["input", row.tokensIn], ["output", row.tokensOut]] as const) {
    if (value > 0) {
      list.push({
        name: "gen_ai.client.token.usage",
        description: "Number of input and output tokens used.",
        boundaries: TOKEN_BOUNDS,
        attributes: { ...base, "gen_ai.token.type": type },
        value
      })
    }
  }
  return list
}
