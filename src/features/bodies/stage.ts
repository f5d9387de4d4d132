/** Follows the requests whose bodies are kept. Nothing is copied, and nothing is asked but one setting, while none are. */
import * as Effect from "effect/Effect"
import { presentedKey } from "#src/inference/lane/InferenceCall.ts"
import type { Stage } from "#src/inference/lane/stages/Stages.ts"
import { CallBodies } from "./CallBodies.ts"

export const stage = Effect.map(CallBodies, (bodies): Stage => ({
  name: "bodies",
  applies: ({ key }) => bodies.isOn() && key?.policy.noLog !== true,
  run: (call, next) => {
    const { body, client, form, interceptors, request } = call
    // The parts of a form may lie in files.
    const capture = bodies.begin(form === undefined ? body : form.length, presentedKey(request))
    next(capture === null ? call : { ...call, client: capture.clientOf(client), interceptors: [...interceptors, capture] })
  }
}))
