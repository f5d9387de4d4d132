/** Passwords: scrypt in the thread pool, compared in constant time, with the same work whether or not one is stored. */
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

const cost = { N: 2 ** 15, r: 8, p: 1 } as const
const saltBytes = 16
const keyBytes = 32
/** scrypt needs 128 * N * r bytes. */
const maxMemory = 64 * 1024 * 1024

/** Bounds of stored parameters: a tampered row must not make one login take the machine. */
const maxCost = { logN: 17, r: 16, p: 4 } as const

interface Stored {
  readonly N: number
  readonly r: number
  readonly p: number
  readonly salt: Buffer
  readonly key: Buffer
}

/** Stands in when nothing (readable) is stored. */
const decoy: Stored = { ...cost, salt: Buffer.alloc(saltBytes), key: Buffer.alloc(keyBytes) }

const derive = (password: string, salt: Buffer, N: number, r: number, p: number): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    scrypt(password.normalize("NFKC"), salt, keyBytes, { N, r, p, maxmem: Math.max(maxMemory, 256 * N * r) }, (error, key) => {
      resume(error === null ? Effect.succeed(key) : Effect.die(error))
    })
  })

/** `scrypt$<log2 N>$<r>$<p>$<salt>$<key>`, base64url parts; null when it is anything else. */
const parse = (stored: string): Stored | null => {
  const match = /^scrypt\$(\d{1,2})\$(\d{1,2})\$(\d)\$([\w-]{22})\$([\w-]{43})$/.exec(stored)
  if (match === null) return null
  const [logN, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])]
  if (logN < 1 || logN > maxCost.logN || r < 1 || r > maxCost.r || p < 1 || p > maxCost.p) return null
  return { N: 2 ** logN, r, p, salt: Buffer.from(match[4] ?? "", "base64url"), key: Buffer.from(match[5] ?? "", "base64url") }
}

/** Hashes a password for storage (about 100 ms of one pool thread, 32 MiB). */
export const hash = Effect.fnUntraced(function*(password: Redacted.Redacted<string>) {
  const salt = randomBytes(saltBytes)
  const key = yield* derive(Redacted.value(password), salt, cost.N, cost.r, cost.p)
  return ["scrypt", Math.log2(cost.N), cost.r, cost.p, salt.toString("base64url"), key.toString("base64url")].join("$")
})

/** Compares with a stored hash; null or an unreadable one takes as long and answers false. */
export const verify = Effect.fnUntraced(function*(password: Redacted.Redacted<string>, stored: string | null) {
  const known = stored === null ? null : parse(stored)
  const { N, key, p, r, salt } = known ?? decoy
  const derived = yield* derive(Redacted.value(password), salt, N, r, p)
  return timingSafeEqual(derived, key) && known !== null
})
