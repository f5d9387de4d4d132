/** How errors are written for a chat client. */
import type { PublicError } from "#schemas/errors.ts"
import { common, type ClientError } from "#src/wire/errorObject.ts"

/** The common error object; extra members follow message, type and code. */
export const errorBody = (error: PublicError): string => JSON.stringify({ error: common(error) })

export const errorFrames = (error: ClientError): string => `data: ${JSON.stringify({ error: common(error) })}\n\ndata: [DONE]\n\n`
