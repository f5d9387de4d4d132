/**
 * How a client of a local model server is told of an error: its SDKs show the member `error` as it stands, so it is the message
 * itself (an object would be shown as "[object Object]"); type, code and the rest stand beside it (decisions 5 and 9).
 */
import type { PublicError } from "#schemas/errors.ts"

export const errorText = (error: { readonly type: string; readonly code: string; readonly message: string; readonly extra?: PublicError["extra"] }): string =>
  JSON.stringify({ error: error.message, type: error.type, code: error.code, ...error.extra })

export const errorBody = (error: PublicError): string => errorText(error)

export const errorFrames = (error: PublicError): string => `${errorText(error)}\n`
