/** The first line of an archive: JSON in the clear that says what it is, and which key opens the rest. It holds no secret. */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { SealBroken, type Secrets } from "#actors/ports/Secrets.ts"
import { ArchiveError } from "./ArchiveError.ts"
import { KEY_BYTES } from "./frames.ts"

export const FORMAT = "gateway-backup"
/** Of the archive's own form. */
export const VERSION = 1
/** Bytes that a header may have, its line end included. */
export const HEADER_MAX = 64 * 1024

/** `records`: what operators configure, and the keys of clients. `all`: the ledger and the audit log, too. */
export const Contents = Schema.Literals(["records", "all"])
export type Contents = typeof Contents.Type

/** How the archive's own key is wrapped. */
const Key = Schema.Union([
  Schema.Struct({ by: Schema.Literal("master-key"), id: Schema.String, sealed: Schema.String }),
  Schema.Struct({ by: Schema.Literal("passphrase"), salt: Schema.String, sealed: Schema.String })
])

export const Header = Schema.Struct({
  format: Schema.Literal(FORMAT),
  version: Schema.Int,
  /** Release that wrote it. */
  gateway: Schema.String,
  /** ISO 8601. */
  createdAt: Schema.String,
  /** Why it was made: `manual`, `scheduled`, `pre-restore`, `pre-import` or `export`. */
  reason: Schema.String,
  contents: Contents,
  /** Versions of the database's schema that were applied. */
  migrations: Schema.Array(Schema.Struct({ id: Schema.Int, name: Schema.String })),
  key: Key
})
export interface Header extends Schema.Schema.Type<typeof Header> {}

const decode = Schema.decodeUnknownOption(Header)
const decodeVersion = Schema.decodeUnknownOption(Schema.Struct({ format: Schema.Literal(FORMAT), version: Schema.Int, gateway: Schema.String }))

const foreign = new ArchiveError({
  reason: "foreign", message: "This is no backup of a gateway: send the file as GET /api/db-backups/export gave it, as the body, without a form around it."
})

export const lineOf = (header: Header): Buffer => Buffer.from(`${JSON.stringify(header)}\n`)

/** Reads the first line of a file. `start`: its first bytes, HEADER_MAX of them where there are so many. */
export const parse = (start: Buffer): { readonly header: Header; readonly line: Buffer } | ArchiveError => {
  const end = start.indexOf(10)
  if (end === -1 || end >= HEADER_MAX) return foreign
  const line = start.subarray(0, end + 1)
  let value: unknown
  try {
    value = JSON.parse(line.toString("utf8"))
  } catch {
    return foreign
  }
  const known = decodeVersion(value)
  if (Option.isNone(known)) return foreign
  if (known.value.version > VERSION) {
    return new ArchiveError({ reason: "newer", message: `The archive has form ${known.value.version}, of gateway ${known.value.gateway}; this gateway reads up to ${VERSION}. Upgrade this gateway first.` })
  }
  const header = decode(value)
  return Option.isNone(header) ? foreign : { header: header.value, line }
}

const context = (createdAt: string): string => `backup:${createdAt}`
const aad = (createdAt: string): Buffer => Buffer.from(context(createdAt))

/** scrypt needs 128 * N * r bytes: 64 MiB. */
const cost = { N: 2 ** 16, r: 8, p: 1, maxmem: 128 * 1024 * 1024 } as const

const derived = (passphrase: Redacted.Redacted<string>, salt: Buffer): Effect.Effect<Buffer> => Effect.callback((resume) => {
  scrypt(Redacted.value(passphrase).normalize("NFKC"), salt, KEY_BYTES, cost, (error, key) => resume(error === null ? Effect.succeed(key) : Effect.die(error)))
})

/** A key for one archive, and how its header keeps it: under the passphrase, or without one under the master key. */
export const makeKey = Effect.fnUntraced(function*(secrets: Secrets["Service"], passphrase: Redacted.Redacted<string> | null, createdAt: string) {
  const key = randomBytes(KEY_BYTES)
  if (passphrase === null) {
    const sealed = secrets.seal(Redacted.make(key.toString("base64url")), context(createdAt))
    return { key, wrapped: { by: "master-key" as const, id: secrets.currentKeyId, sealed } }
  }
  const salt = randomBytes(16)
  const iv = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", yield* derived(passphrase, salt), iv)
  cipher.setAAD(aad(createdAt))
  const sealed = Buffer.concat([iv, cipher.update(key), cipher.final(), cipher.getAuthTag()])
  return { key, wrapped: { by: "passphrase" as const, salt: salt.toString("base64url"), sealed: sealed.toString("base64url") } }
})

/** The key of an archive. */
export const openKey = Effect.fnUntraced(function*(secrets: Secrets["Service"], passphrase: Redacted.Redacted<string> | null, { createdAt, key }: Header) {
  if (key.by === "master-key") {
    return yield* Effect.try({
      try: () => Buffer.from(Redacted.value(secrets.openUnsafe(key.sealed, context(createdAt))), "base64url"),
      catch: (error) => new ArchiveError({
        reason: "sealed",
        message: error instanceof SealBroken && key.id !== secrets.currentKeyId
          ? `The archive was sealed with master key ${key.id}, which this gateway does not have (its own is ${secrets.currentKeyId}). Start it with that secret in GATEWAY_SECRET_PREVIOUS, `
            + "or export the archive again with a passphrase."
          : "The header of the archive was altered. Use another copy of it."
      })
    })
  }
  if (passphrase === null) return yield* new ArchiveError({ reason: "sealed", message: "The archive was sealed with a passphrase: send it in the header x-backup-passphrase." })
  const whole = Buffer.from(key.sealed, "base64url")
  const opening = yield* derived(passphrase, Buffer.from(key.salt, "base64url"))
  return yield* Effect.try({
    try: () => {
      const decipher = createDecipheriv("aes-256-gcm", opening, whole.subarray(0, 12), { authTagLength: 16 })
      decipher.setAAD(aad(createdAt))
      decipher.setAuthTag(whole.subarray(-16))
      return Buffer.concat([decipher.update(whole.subarray(12, -16)), decipher.final()])
    },
    catch: () => new ArchiveError({ reason: "sealed", message: "The passphrase is not the one that the archive was sealed with, or its header was altered." })
  })
})
