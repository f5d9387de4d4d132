/** A model id as clients write it; a longer id of a provider is called by an alias or a combo. */
import * as Schema from "effect/Schema"

/** Longest model id of a request, characters. */
export const LONGEST_MODEL_ID = 200

export const ModelId = Schema.NonEmptyString.check(Schema.isMaxLength(LONGEST_MODEL_ID))
