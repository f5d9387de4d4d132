/** What the operator has switched on, read once per configuration, and what a request may switch off again. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import type { Severity } from "./detection/injection.ts"
import * as OptOut from "./OptOut.ts"
import { type Bridge, bridgeOf } from "./pictures/bridge.ts"
import * as Rules from "./rules.ts"

export interface Options {
  /** INPUT_SANITIZER_BLOCK_THRESHOLD. */
  readonly threshold: Severity
  /** CREDENTIAL_REDACTION_ENABLED. */
  readonly masksCredentials: boolean
}

export class Guardrails extends Context.Service<Guardrails, {
  /** `Rules.none` itself while nothing is switched on: requests compare it. */
  readonly rules: () => Rules.Rules
  /** The rules for one request. */
  readonly rulesFor: (request: OptOut.Request) => Rules.Rules
  /** How pictures are described for models that cannot take them; null = they are not. */
  readonly bridge: () => Bridge | null
  /** The same for one request. */
  readonly bridgeFor: (request: OptOut.Request) => Bridge | null
}>()("gateway/features/guardrails/Guardrails") {}

const modeIn = (value: string): Rules.Mode => value === "warn" || value === "block" || value === "redact" ? value : "off"

const rulesOf = (flags: Flags["Service"], { masksCredentials, threshold }: Options): Rules.Rules => {
  const reads = flags.isOn("INPUT_SANITIZER_ENABLED")
  const rules: Rules.Rules = {
    threshold,
    requests: {
      "pii-masker": reads && flags.isOn("PII_REDACTION_ENABLED") ? "redact" : "off",
      "prompt-injection": reads ? modeIn(flags.value("INJECTION_GUARD_MODE")) : "off",
      "credential-masker": reads && masksCredentials ? "redact" : "off"
    },
    answers: {
      "pii-masker": flags.isOn("PII_RESPONSE_SANITIZATION") ? modeIn(flags.value("PII_RESPONSE_SANITIZATION_MODE")) : "off",
      "prompt-injection": "off",
      "credential-masker": masksCredentials ? "redact" : "off"
    }
  }
  return Rules.isOn(rules.requests) || Rules.isOn(rules.answers) ? rules : Rules.none
}

const make = Effect.fnUntraced(function*(options: Options) {
  const configuration = yield* Configuration
  const flags = yield* Flags
  // Made anew by the first request of a configuration: flags hear of a change at the same time.
  let rules: Rules.Rules | null = null
  let bridge: Bridge | null | undefined
  const unsubscribe = configuration.onChange(() => {
    rules = null
    bridge = undefined
  })
  yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))
  const current = (): Rules.Rules => rules ??= rulesOf(flags, options)
  const currentBridge = (): Bridge | null => bridge === undefined ? bridge = bridgeOf(configuration.current().settings) : bridge
  const leftOut = (request: OptOut.Request) => OptOut.of(request, configuration.current().settings.get("allowGuardrailOptOut") !== false)
  return Guardrails.of({
    rules: current,
    rulesFor: (request) => Rules.without(current(), leftOut(request)),
    bridge: currentBridge,
    bridgeFor: (request) => leftOut(request).includes(Rules.visionBridge.name) ? null : currentBridge()
  })
})

export const layer = (options: Options) => Layer.effect(Guardrails, make(options))

export const layerOf = ({ inputSanitizerThreshold, masksCredentials }: Values) =>
  layer({ threshold: inputSanitizerThreshold, masksCredentials })
