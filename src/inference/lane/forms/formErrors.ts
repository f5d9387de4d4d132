/** Why a form could not be kept, for the client that sent it. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { SpoolFailure } from "#src/platform/spool/SpoolFile.ts"

/** The bodies that are held already leave no room for another one. */
export const noRoom = (): PublicError => Errors.make(
  "service_unavailable", "The gateway holds as many bytes of request bodies as it may (GATEWAY_MAX_HELD_BODY_BYTES); repeat the request in a moment.", { retryAfterSeconds: 1 }
)

/** What the client is told of an upload that cannot be kept. */
export const ofSpool = ({ code, reason }: SpoolFailure): PublicError => {
  switch (reason) {
    case "memory":
      return noRoom()
    case "cap":
      return Errors.make(
        "service_unavailable", "The gateway keeps as many bytes of uploads on disk as it may (GATEWAY_MAX_SPOOL_BYTES); repeat the request in a moment.", { retryAfterSeconds: 1 }
      )
    case "disk-full":
      return Errors.make("insufficient_storage", "The disk of the gateway's data directory is full, so that the upload cannot be kept. Its operator has to make room (GATEWAY_DATA_DIR).")
    case "disk":
      return Errors.make("service_unavailable", `The upload cannot be kept in the gateway's data directory (GATEWAY_DATA_DIR): the file system answered ${code}.`, { retryAfterSeconds: 1 })
  }
}

/** The client of a shared request left before it was sent. */
export const gone = (): PublicError => Errors.make("client_closed_request", "The client that sent the form left before the form was sent on; repeat the request.")
