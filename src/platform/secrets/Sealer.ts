/**
 * The `Secrets` port: AES-256-GCM under keys that HKDF-SHA256 derives from the master secret.
 *
 * An envelope is `v1.<key id>.<iv>.<tag>.<ciphertext>`; the context (which record, which field) is authenticated with it, so
 * that a sealed value cannot be moved to another record.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as MasterKey from "./MasterKey.ts"

const version = "v1"
const ivBytes = 12
const tagBytes = 16

const derive = (secret: Redacted.Redacted<string>, purpose: string): Buffer =>
  Buffer.from(hkdfSync("sha256", Redacted.value(secret), "gateway", purpose, 32))

const fingerprintOf = (secret: Redacted.Redacted<string>): string =>
  createHmac("sha256", derive(secret, "fingerprint")).update("master secret").digest("hex")

export const fingerprintsOf = (keys: MasterKey.MasterKeys): readonly [current: string, ...former: ReadonlyArray<string>] =>
  [fingerprintOf(keys.current), ...keys.previous.map(fingerprintOf)]

/** First eight hex digits of the key's SHA-256. */
const idOf = (key: Buffer): string => createHash("sha256").update(key).digest("hex").slice(0, 8)

/** Builds the port from secrets that are already at hand. */
export const make = (keys: MasterKey.MasterKeys): Secrets["Service"] => {
  const sealing = derive(keys.current, "seal")
  const currentKeyId = idOf(sealing)
  const opening = new Map<string, Buffer>()
  for (const secret of [...keys.previous].reverse()) {
    const key = derive(secret, "seal")
    opening.set(idOf(key), key)
  }
  opening.set(currentKeyId, sealing)
  const macKeys = new Map<string, Buffer>()

  const broken = (keyId: string, why: string): SealBroken => new SealBroken({ keyId, message: why })

  return {
    currentKeyId,
    fingerprints: fingerprintsOf(keys),
    madeFile: keys.madeFile ?? null,
    seal: (value, context) => {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv("aes-256-gcm", sealing, iv, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(context))
      const sealed = Buffer.concat([cipher.update(Redacted.value(value), "utf8"), cipher.final()])
      return [version, currentKeyId, iv.toString("base64url"), cipher.getAuthTag().toString("base64url"), sealed.toString("base64url")].join(".")
    },
    openUnsafe: (sealed, context) => {
      const [found, keyId = "", iv = "", tag = "", text = "", rest] = sealed.split(".")
      if (found !== version || rest !== undefined) throw broken("", `The sealed value of ${context} is not an envelope of version ${version}.`)
      const key = opening.get(keyId)
      if (key === undefined) {
        throw broken(
          keyId,
          `The value of ${context} was sealed with key ${keyId}, which is not known (current: ${currentKeyId}). `
            + "Put the master secret it was made with into GATEWAY_SECRET_PREVIOUS."
        )
      }
      const ivBytesFound = Buffer.from(iv, "base64url")
      const tagFound = Buffer.from(tag, "base64url")
      try {
        if (ivBytesFound.length !== ivBytes || tagFound.length !== tagBytes) throw new Error("length")
        const decipher = createDecipheriv("aes-256-gcm", key, ivBytesFound, { authTagLength: tagBytes })
        decipher.setAAD(Buffer.from(context))
        decipher.setAuthTag(tagFound)
        return Redacted.make(Buffer.concat([decipher.update(Buffer.from(text, "base64url")), decipher.final()]).toString("utf8"))
      } catch {
        throw broken(keyId, `The sealed value of ${context} was altered, or belongs to another record (key ${keyId}).`)
      }
    },
    isStale: (sealed) => !sealed.startsWith(`${version}.${currentKeyId}.`),
    mac: (purpose, value) => {
      let key = macKeys.get(purpose)
      if (key === undefined) {
        key = derive(keys.current, `mac:${purpose}`)
        macKeys.set(purpose, key)
      }
      return createHmac("sha256", key).update(value).digest("hex")
    }
  }
}

/** `Secrets` from GATEWAY_SECRET or the key file of the data directory. */
export const layer = (options: MasterKey.Options): Layer.Layer<Secrets, MasterKey.MasterKeyError> =>
  Layer.effect(Secrets, Effect.map(MasterKey.load(options), make))

const listed = (text: Redacted.Redacted<string>): ReadonlyArray<Redacted.Redacted<string>> =>
  Redacted.value(text).split(",").map((one) => one.trim()).filter((one) => one !== "").map((one) => Redacted.make(one))

/** What the operator set. */
export const optionsOf = ({ dataDir, previousSecrets, secret }: Pick<Values, "dataDir" | "previousSecrets" | "secret">): MasterKey.Options => ({
  dataDir,
  secret: secret ?? undefined,
  previous: previousSecrets === null ? undefined : listed(previousSecrets)
})

/** The secrets that the operator set. */
export const layerOf = (settings: Values) => layer(optionsOf(settings))
