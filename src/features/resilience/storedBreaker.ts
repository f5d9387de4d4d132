/** An open breaker as its document says it. */
import * as Schema from "effect/Schema"
import { ProfileName } from "#schemas/records/ResilienceSettings.ts"

const StoredBreaker = Schema.Struct({
  openUntil: Schema.Finite,
  failures: Schema.Int,
  lastFailureAt: Schema.NullOr(Schema.Finite),
  lastStatus: Schema.Int,
  profile: ProfileName,
  only: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/** None for what is no such document. */
export const read = Schema.decodeUnknownOption(StoredBreaker)
