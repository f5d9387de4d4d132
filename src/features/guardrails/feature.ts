/** Injections, personal data and credentials in conversations: found, masked or refused. */
import * as Feature from "#src/management/Feature.ts"
import { GuardrailsGroup } from "./api.ts"
import * as Guardrails from "./Guardrails.ts"
import * as Http from "./http.ts"

export const guardrails = Feature.make({
  name: "guardrails",
  groups: [GuardrailsGroup],
  handlers: Http.layer,
  services: Guardrails.layerOf
})
