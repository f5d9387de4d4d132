/** POST /v1/audio/speech, /v1/audio/transcriptions and /v1/audio/translations, as operations of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Speech from "#src/wire/audio/speech.ts"
import * as Transcriptions from "#src/wire/audio/transcriptions.ts"
import * as Vendors from "#src/wire/audio/vendors.ts"
import type { Route } from "#src/routing/Router.ts"

/** Longest wait for the beginning of an answer, ms. */
const answerMs = 120_000

/** Some vendors have a part of the request in their paths. */
const place = (route: Route, body: Readonly<Record<string, unknown>>): Route => ({ ...route, targets: route.targets.map((target) => Vendors.placed(target, body)) })

const speech = { ...OneShot.make({ kind: "speech", codec: Speech.codec, endpoint: "/v1/audio/speech", category: "audio", answerMs, units: Speech.units }), place }

const written = (kind: "transcriptions" | "translations") =>
  ({ ...OneShot.make({ kind, codec: Transcriptions.codec, endpoint: `/v1/audio/${kind}`, category: "audio", answerMs, isForm: true, meterOf: Transcriptions.meterOf, units: Transcriptions.units }), place })

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/audio/speech", speech),
  OneShot.serve("/v1/audio/transcriptions", written("transcriptions")),
  OneShot.serve("/v1/audio/translations", written("translations"))
])
