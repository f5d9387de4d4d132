/** What the descriptions of inference operations are made of. */
import type { JsonObject } from "./json.ts"

/** Names of the error bodies, one per format. */
export type ErrorSchema = "ChatError" | "MessagesError" | "GenerateContentError" | "LocalModelServerError"

export const text = { type: "string" }

export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

const failures = {
  400: "The body cannot be used, or no target can say what it asks; the message names the field.",
  401: "The key is missing or wrong, or a provider refused the stored credential (`upstream_auth_error`).",
  403: "The key may not use this model, endpoint or address.",
  404: "There is no such model.",
  413: "The body is too large.",
  415: "The body has another type than this endpoint takes.",
  422: "The page cannot be read; the message says why.",
  429: "A limit of the key or of every provider is reached; `Retry-After` says when to repeat.",
  502: "The provider failed or broke off.",
  503: "Every provider rests, or the gateway is starting or draining.",
  504: "The provider took too long.",
  507: "The disk of the gateway's data directory is full, so that the upload cannot be kept."
} as const
export type Failure = keyof typeof failures

const errorSchemas: ReadonlyArray<ErrorSchema> = ["ChatError", "MessagesError", "GenerateContentError", "LocalModelServerError"]

const responseName = (status: number | string, schema: ErrorSchema): string => `${schema}${status}`

/** Each failure in each format, by the names that `errors` refers to. */
export const sharedErrors: JsonObject = Object.fromEntries(errorSchemas.flatMap((schema) => Object.entries(failures).map(([status, description]) =>
  [responseName(status, schema), { description, content: { "application/json": { schema: ref(schema) } } }])))

/** Answers that say no more than that it was done. */
export const sharedAnswers: JsonObject = {
  Done: {
    description: "Success",
    content: {
      "application/json": {
        schema: { type: "object", properties: { success: { type: "boolean", enum: [true] } }, required: ["success"], additionalProperties: false },
        example: { success: true }
      }
    }
  }
}

/** References to the shared response of each status. */
export const errors = (statuses: ReadonlyArray<Failure>, schema: ErrorSchema): JsonObject =>
  Object.fromEntries(statuses.map((status) => [String(status), { $ref: `#/components/responses/${responseName(status, schema)}` }]))

export const requestIdHeader = { description: "Id of this request in logs and in `GET /api/usage/call-logs`.", schema: text }

export interface Operation {
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly parameters?: ReadonlyArray<JsonObject>
  readonly body?: JsonObject
  readonly responses: JsonObject
}

export const inPath = (name: string, description: string, example: string): JsonObject => ({ name, in: "path", required: true, description, schema: text, example })
export const provider = inPath("provider", "Id, alias or node prefix of a provider.", "openai")
