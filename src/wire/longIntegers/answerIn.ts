/** A whole answer of a family, out of its bytes. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Answer } from "#schemas/wire/conversation.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import * as LongIntegers from "#src/wire/longIntegers/longIntegers.ts"
import type { UpstreamCodec } from "#src/wire/WireFormat.ts"

/** Null for what is no answer. Arguments of calls keep integers that no number holds. */
export const answerIn = (family: Pick<UpstreamCodec, "decodeAnswer" | "name">, body: Uint8Array): Answer | UpstreamErrorBody | null => {
  const text = asBuffer(body).toString("utf8")
  const parsed = Json.parseRecord(text)
  const answer = parsed === null ? null : family.decodeAnswer(parsed)
  if (answer === null || !("choices" in answer) || !answer.choices.some(({ parts }) => LongIntegers.isRounded(family.name, parts))) return answer
  const exact = LongIntegers.parseRecord(text)
  return exact === null ? answer : family.decodeAnswer(exact)
}
