/** Vectors of texts: how they are kept, what answers of `/v1/embeddings` hold, and how near two are. Pure. */
import { createHash } from "node:crypto"
import * as Json from "#src/wire/json/json.ts"

/** Of length one, so that the product of two is the cosine of their angle. */
export type Vector = Float32Array

/** Numbers of one vector. */
const MOST_NUMBERS = 16_384

/** Null for what is no vector: empty, too long, of other things than numbers, or of no direction. */
export const vectorOf = (numbers: unknown): Vector | null => {
  if (!Array.isArray(numbers) || numbers.length === 0 || numbers.length > MOST_NUMBERS) return null
  let sum = 0
  for (const number of numbers as ReadonlyArray<unknown>) {
    if (typeof number !== "number" || !Number.isFinite(number)) return null
    sum += number * number
  }
  if (sum === 0 || !Number.isFinite(sum)) return null
  const length = Math.sqrt(sum)
  return Float32Array.from(numbers as ReadonlyArray<number>, (number) => number / length)
}

export const toBytes = (vector: Vector): Uint8Array => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

/** Null for bytes that are no vector. They are copied: those of a driver may begin anywhere. */
export const fromBytes = (bytes: Uint8Array): Vector | null =>
  bytes.length === 0 || bytes.length % 4 !== 0 ? null : new Float32Array(Uint8Array.from(bytes).buffer)

/** Between -1 and 1; null for vectors of different models. */
export const nearness = (a: Vector, b: Vector): number | null => {
  if (a.length !== b.length) return null
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number)
  return sum
}

/** What an entry is embedded as. */
export const textOf = ({ content, key }: { readonly content: string; readonly key: string }): string => `${key}\n${content}`

/** Of a text that is embedded: another one makes its vector stale. */
export const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url")

/** The vectors of an answer to `texts` texts, in their order; null where one is missing. */
export const vectorsIn = (body: string, texts: number): ReadonlyArray<Vector> | null => {
  const data = Json.parseRecord(body)?.["data"]
  if (!Array.isArray(data) || data.length !== texts) return null
  const vectors = Array.from({ length: texts }, (): Vector | null => null)
  for (const [place, item] of (data as ReadonlyArray<unknown>).entries()) {
    if (!Json.isRecord(item)) return null
    const index = typeof item["index"] === "number" ? item["index"] : place
    if (Number.isInteger(index) && index >= 0 && index < texts) vectors[index] = vectorOf(item["embedding"])
  }
  return vectors.every((vector) => vector !== null) ? vectors : null
}
