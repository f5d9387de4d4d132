/** A form whose files are all in memory, for servers that take them inside of JSON. */
import * as Effect from "effect/Effect"
import { isStored, type Stored } from "#actors/request/ports/Body.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Form, FormPart } from "#src/wire/form/Form.ts"
import * as FormErrors from "./formErrors.ts"

/** Bytes of all files that are read back. */
const mostBytes = 20 * 1024 * 1024

const unreadable = Errors.make("service_unavailable", "A file of the form cannot be read back from the gateway's data directory (GATEWAY_DATA_DIR).", { retryAfterSeconds: 1 })

const bytesOf = (stored: Stored): Effect.Effect<Buffer | PublicError> => Effect.callback((resume) => {
  const bytes = Buffer.allocUnsafeSlow(stored.length)
  const from = (at: number): void => {
    if (at === bytes.length) return resume(Effect.succeed(bytes))
    stored.read(at, bytes.subarray(at), (failure, count) => {
      if (failure !== null || count === 0) resume(Effect.succeed(unreadable))
      else from(at + count)
    })
  }
  from(0)
})

/** Whether a file of the form lies on the disk. */
export const isNeeded = ({ parts }: Form): boolean => parts.some(({ content }) => isStored(content))

/** The form with its files in memory, or why they do not fit there. */
export const of = (form: Form): Effect.Effect<Form | PublicError> => Effect.suspend(() => {
  const bytes = form.parts.reduce((sum, { content }) => sum + (isStored(content) ? content.length : 0), 0)
  if (bytes > mostBytes) return Effect.succeed(Errors.make("payload_too_large", `This model takes files of up to ${mostBytes} bytes together.`))
  const release = form.hold()
  if (release === null) return Effect.succeed(FormErrors.gone())
  return Effect.ensuring(Effect.gen(function*() {
    const parts: Array<FormPart> = []
    for (const part of form.parts) {
      const content = isStored(part.content) ? yield* bytesOf(part.content) : part.content
      if (content instanceof PublicError) return content
      parts.push({ ...part, content })
    }
    return { ...form, parts }
  }), Effect.sync(release))
})
