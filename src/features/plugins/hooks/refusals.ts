/** What a client is told of a request that a plugin lets not pass. Pure. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"

export const refused = (plugin: string, status: number, message: string): PublicError =>
  new PublicError("plugin_refused", status, "invalid_request_error", message, null, { plugin })

export const failed = (plugin: string): PublicError =>
  Errors.make("plugin_failed", `The plugin '${plugin}' failed, and nothing may pass without it; the log holds the reason.`, { extra: { plugin } })

export const tooLarge = (plugin: string, bytes: number): PublicError =>
  Errors.make("payload_too_large", `The plugin '${plugin}' reads bodies of at most ${bytes} bytes, and nothing may pass without it.`, { extra: { plugin } })
