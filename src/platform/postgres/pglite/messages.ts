/** The few messages of Postgres' protocol that the embedded server's thread itself sends and reads. Pure. */

const query = 0x51
const errorResponse = 0x45
const severityField = 0x56
const messageField = 0x4d
/** Type and length. */
const headBytes = 5

/** A statement without parameters. */
export const queryOf = (sql: string): Uint8Array => {
  const text = Buffer.from(`${sql}\0`)
  const message = Buffer.alloc(headBytes + text.length)
  message[0] = query
  message.writeUInt32BE(message.length - 1, 1)
  text.copy(message, headBytes)
  return message
}

export interface ServerError {
  readonly severity: string
  readonly message: string
}

/** A letter and a text each, a zero after the text and after the last one. */
const readError = (body: Buffer): ServerError => {
  const fields = new Map<number, string>()
  for (let at = 0; at < body.length && body[at] !== 0;) {
    const end = body.indexOf(0, at)
    if (end < 0) break
    fields.set(body[at] ?? 0, body.toString("utf8", at + 1, end))
    at = end + 1
  }
  return { severity: fields.get(severityField) ?? "", message: fields.get(messageField) ?? "" }
}

/** The last error that a reply names; null without one. */
export const errorIn = (reply: Uint8Array): ServerError | null => {
  const bytes = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength)
  let found: ServerError | null = null
  for (let at = 0; at + headBytes <= bytes.length;) {
    const end = at + 1 + bytes.readUInt32BE(at + 1)
    if (bytes[at] === errorResponse) found = readError(bytes.subarray(at + headBytes, end))
    at = end
  }
  return found
}

/** Why the server gave up, where a reply says so: after FATAL or PANIC its only backend is over. Null while it goes on. */
export const fatalIn = (reply: Uint8Array): string | null => {
  const error = errorIn(reply)
  return error !== null && (error.severity === "FATAL" || error.severity === "PANIC") ? `${error.severity}: ${error.message}` : null
}
