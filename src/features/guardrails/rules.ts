/** The guardrails: their names, what an operator has switched on of them, and what each says of a text. Pure. */
import type * as GuardrailName from "#schemas/api/GuardrailName.ts"
import * as Credentials from "./detection/credentials.ts"
import { type Finding, masked, ordered } from "./detection/findings.ts"
import * as Injection from "./detection/injection.ts"
import * as PersonalData from "./detection/personalData.ts"

/** Those that read texts. */
export type Name = Exclude<GuardrailName.GuardrailName, "vision-bridge">

/** Lower numbers run first; each one reads what those before it have left of the text. */
export const guardrails: ReadonlyArray<{ readonly name: Name; readonly priority: number }> = [
  { name: "pii-masker", priority: 10 },
  { name: "prompt-injection", priority: 20 },
  { name: "credential-masker", priority: 95 }
]

/** Pictures become texts before any guardrail reads them. */
export const visionBridge = { name: "vision-bridge", priority: 5 } as const satisfies { readonly name: GuardrailName.GuardrailName; readonly priority: number }

/** What a guardrail does with what it finds; `warn` counts and logs it. */
export type Mode = "off" | "warn" | "block" | "redact"

/** What is switched on, for texts of requests and of answers. Plain data: threads are given it. */
export interface Rules {
  readonly requests: Readonly<Record<Name, Mode>>
  readonly answers: Readonly<Record<Name, Mode>>
  /** What blocks is at least as severe. */
  readonly threshold: Injection.Severity
}

const allOff: Readonly<Record<Name, Mode>> = { "pii-masker": "off", "prompt-injection": "off", "credential-masker": "off" }
export const none: Rules = { requests: allOff, answers: allOff, threshold: "high" }

/** Without those that are named. */
export const without = (rules: Rules, names: ReadonlyArray<GuardrailName.GuardrailName>): Rules => {
  const read = names.filter((name) => name !== visionBridge.name)
  if (read.length === 0) return rules
  const off = Object.fromEntries(read.map((name) => [name, "off" as const]))
  return { ...rules, requests: { ...rules.requests, ...off }, answers: { ...rules.answers, ...off } }
}

export const isOn = (modes: Readonly<Record<Name, Mode>>): boolean => guardrails.some(({ name }) => modes[name] !== "off")

/** Something may be refused or changed, so that a failure must not let a text pass. */
export const enforces = (modes: Readonly<Record<Name, Mode>>): boolean => guardrails.some(({ name }) => modes[name] === "block" || modes[name] === "redact")

/** How often each type was found. */
export type Counts = Readonly<Record<string, number>>

/** What a guardrail says of a text. */
export type Verdict =
  | { readonly outcome: "pass"; readonly found: Counts }
  | { readonly outcome: "modify"; readonly found: Counts; readonly text: string }
  /** `detections`: findings that are severe enough. */
  | { readonly outcome: "block"; readonly found: Counts; readonly detections: number }

const nothing: Counts = {}
const passed: Verdict = { outcome: "pass", found: nothing }

export const finders: Readonly<Record<Name, (text: string) => ReadonlyArray<Finding>>> = {
  "pii-masker": PersonalData.find,
  "prompt-injection": Injection.find,
  "credential-masker": Credentials.find
}

const isSevere = (finding: Finding, threshold: Injection.Severity): boolean =>
  !("severity" in finding) || Injection.atLeast((finding as Injection.Attempt).severity, threshold)

export const countsOf = (findings: ReadonlyArray<Finding>): Counts => {
  const counts: Record<string, number> = {}
  for (const { type } of findings) counts[type] = (counts[type] ?? 0) + 1
  return counts
}

/** One guardrail's verdict; `find` is its finder. */
export const verdictOf = (mode: Mode, threshold: Injection.Severity, text: string, find: (text: string) => ReadonlyArray<Finding>): Verdict => {
  if (mode === "off") return passed
  const findings = ordered(find(text), text)
  if (findings.length === 0) return passed
  const found = countsOf(findings)
  if (mode === "redact") return { outcome: "modify", found, text: masked(text, findings) }
  const detections = mode === "block" ? findings.filter((finding) => isSevere(finding, threshold)).length : 0
  return detections > 0 ? { outcome: "block", found, detections } : { outcome: "pass", found }
}
