/** How a chat client is told of an error (inference document "Errors", decisions 9). */
import type { PublicError } from "#schemas/errors.ts"

/** The common error object of the inference document; extra members follow message, type and code. */
export const errorBody = (error: PublicError): string =>
  JSON.stringify({ error: { message: error.message, type: error.type, code: error.code, ...error.extra } })

export const errorFrames = (error: PublicError): string => `data: ${errorBody(error)}\n\ndata: [DONE]\n\n`
