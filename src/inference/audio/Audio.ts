/** POST /v1/audio/speech, /v1/audio/transcriptions and /v1/audio/translations, as operations of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Speech from "#src/wire/audio/speech.ts"
import * as Transcriptions from "#src/wire/audio/transcriptions.ts"

/** Longest wait for the beginning of an answer, ms. */
const answerMs = 120_000

const speech = OneShot.make({ kind: "speech", codec: Speech.codec, endpoint: "/v1/audio/speech", category: "audio", answerMs, units: Speech.units })

const written = (kind: "transcriptions" | "translations") =>
  OneShot.make({ kind, codec: Transcriptions.codec, endpoint: `/v1/audio/${kind}`, category: "audio", answerMs, isForm: true })

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/audio/speech", speech),
  OneShot.serve("/v1/audio/transcriptions", written("transcriptions")),
  OneShot.serve("/v1/audio/translations", written("translations"))
])
