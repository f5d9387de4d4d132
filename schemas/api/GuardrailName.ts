/** The names of the guardrails, as operators and clients write them. */
import * as Schema from "effect/Schema"

export const GuardrailName = Schema.Literals(["vision-bridge", "pii-masker", "prompt-injection", "credential-masker"])
export type GuardrailName = typeof GuardrailName.Type

export const isGuardrail = Schema.is(GuardrailName)

/** `PII Masker`, `piiMasker` and `pii_masker` are one name. */
export const normalized = (name: string): string =>
  name.trim().replace(/([a-z0-9])([A-Z])/g, "$1-$2").replace(/[\s_]+/g, "-").toLowerCase()
