/**
 * How errors are written for a client of a local model server: its SDKs show the member `error` as it stands, so it is the message
 * itself (an object would be shown as "[object Object]"); type, code and the rest stand beside it.
 */
import type { ClientError } from "#src/wire/errorObject.ts"

export const errorBody = (error: ClientError): string =>
  JSON.stringify({ error: error.message, type: error.type, code: error.code, ...error.extra })

export const errorFrames = (error: ClientError): string => `${errorBody(error)}\n`
