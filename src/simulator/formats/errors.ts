/**
 * The words a vendor uses for each error status, in the chat vocabulary and in the messages vocabulary.
 */
import type { SimulatedRefusal } from "./Format.ts"

interface Words {
  readonly type: string
  readonly code: string | null
  readonly message: string
}

const CHAT: { readonly [status: number]: Words } = {
  400: { type: "invalid_request_error", code: null, message: "The request is invalid." },
  401: {
    type: "invalid_request_error",
    code: "invalid_api_key",
    message: "Incorrect API key provided. You can find your API key in the simulator's options."
  },
  402: { type: "insufficient_quota", code: "insufficient_quota", message: "Your account has no credit left." },
  403: { type: "invalid_request_error", code: "unsupported_country_region_territory", message: "Country, region, or territory not supported" },
  404: { type: "invalid_request_error", code: "model_not_found", message: "The model does not exist or you do not have access to it." },
  408: { type: "server_error", code: "request_timeout", message: "Request timed out." },
  409: { type: "conflict_error", code: null, message: "The resource was changed by another request." },
  413: { type: "invalid_request_error", code: null, message: "The request is too large." },
  422: { type: "invalid_request_error", code: null, message: "The request could not be processed." },
  429: { type: "requests", code: "rate_limit_exceeded", message: "Rate limit reached. Please try again later." },
  500: { type: "server_error", code: null, message: "The server had an error while processing your request. Sorry about that!" },
  502: { type: "server_error", code: null, message: "Bad gateway." },
  503: { type: "server_error", code: "server_overloaded", message: "The engine is currently overloaded, please try again later." },
  504: { type: "server_error", code: null, message: "Gateway timeout." }
}

const MESSAGES_TYPES: { readonly [status: number]: string } = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error"
}

const wordsOf = (status: number): Words => CHAT[status] ?? (status < 500 ? CHAT[400]! : CHAT[500]!)

/** `{error:{message, type, param, code}}` */
export const renderChatError = (refusal: SimulatedRefusal): string => {
  const words = wordsOf(refusal.status)
  return JSON.stringify({
    error: {
      message: refusal.message === "" ? words.message : refusal.message,
      type: refusal.type ?? words.type,
      param: refusal.param ?? null,
      code: refusal.code === undefined ? words.code : refusal.code
    }
  })
}

/** `{type:"error", error:{type, message}, request_id}` */
export const renderMessagesError = (refusal: SimulatedRefusal): string => {
  const type = refusal.type ?? MESSAGES_TYPES[refusal.status] ?? (refusal.status < 500 ? "invalid_request_error" : "api_error")
  return JSON.stringify({
    type: "error",
    error: { type, message: refusal.message === "" ? wordsOf(refusal.status).message : refusal.message },
    request_id: null
  })
}

const GOOGLE_STATUS: { readonly [status: number]: string } = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED"
}

/** `{error:{code, message, status}}` */
export const renderGoogleError = (refusal: SimulatedRefusal): string =>
  JSON.stringify({
    error: {
      code: refusal.status,
      message: refusal.message === "" ? wordsOf(refusal.status).message : refusal.message,
      status: GOOGLE_STATUS[refusal.status] ?? (refusal.status < 500 ? "INVALID_ARGUMENT" : "INTERNAL")
    }
  })

/** `{error: message}` */
export const renderLocalError = (refusal: SimulatedRefusal): string =>
  JSON.stringify({ error: refusal.message === "" ? wordsOf(refusal.status).message : refusal.message })

const STREAM_MESSAGE = CHAT[500]!.message

export const chatStreamError = { data: renderChatError({ status: 500, message: STREAM_MESSAGE }), tokens: 0 }

export const messagesStreamError = {
  event: "error",
  data: JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  tokens: 0
}

export const responsesStreamError = {
  event: "error",
  data: JSON.stringify({ type: "error", code: "server_error", message: STREAM_MESSAGE, param: null, sequence_number: 0 }),
  tokens: 0
}

export const googleStreamError = { data: renderGoogleError({ status: 503, message: "The model is overloaded. Please try again later." }), tokens: 0 }

export const localStreamError = { data: `${renderLocalError({ status: 500, message: "an error was encountered while running the model" })}\n`, tokens: 0 }
