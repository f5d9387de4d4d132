/** The issuer of an issued key, as the admission of its calls sees it. */
import type { Limits } from "#actors/limits/ports/Limits.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Issuer } from "#actors/keys/keyPolicy.ts"

/** The key that issued this key, and whether it has limits. */
export const of = ({ issuer = null }: ApiKey, limits: Pick<Limits["Service"], "of">): Issuer =>
  ({ key: issuer, isLimited: issuer !== null && limits.of(issuer) !== null })
