/** The issuer of an issued key, as the admission of its calls sees it. */
import type { Keys } from "#actors/ports/Keys.ts"
import type { Limits } from "#actors/ports/Limits.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Issuer } from "#src/stages/keyPolicy.ts"

export interface Services {
  readonly keys: Pick<Keys["Service"], "issuerOf">
  readonly limits: Pick<Limits["Service"], "of">
}

export const of = (key: ApiKey, { keys, limits }: Services): Issuer => {
  const issuer = keys.issuerOf(key)
  return { key: issuer, isLimited: issuer !== null && limits.of(issuer) !== null }
}
