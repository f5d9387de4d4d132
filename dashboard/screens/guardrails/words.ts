/** What each guardrail does, in words, and the parts of a text that one has replaced. Pure. */
import type { Answer } from "../../api/contract.ts"

export type Result = Answer<"POST /api/guardrails/test">["results"][number]

/** Guardrails of this release; another one is shown by its name. */
export const known: Readonly<Record<string, { readonly word: string; readonly does: string; readonly on: string }>> = {
  "vision-bridge": { word: "Pictures", does: "Pictures for models that cannot take them are described by another model.", on: "Settings: Pictures for models that cannot take them." },
  "pii-masker": { word: "Personal data", does: "Addresses of e-mail, phone and card numbers and numbers of persons are masked.", on: "Requests: PII Redaction. Answers: PII Response Sanitization." },
  "prompt-injection": { word: "Prompt injections", does: "Attempts to talk a model out of its instructions are counted, replaced or refused.", on: "Requests: Injection Guard Mode." },
  "credential-masker": { word: "Credentials", does: "Keys of vendors, signed tokens and private keys are masked.", on: "Requests and answers: CREDENTIAL_REDACTION_ENABLED=true in the environment." }
}

/** The flags that switch guardrails, the master switch first. */
export const flags = ["INPUT_SANITIZER_ENABLED", "INJECTION_GUARD_MODE", "PII_REDACTION_ENABLED", "PII_RESPONSE_SANITIZATION", "PII_RESPONSE_SANITIZATION_MODE"]

/** `email 2, card 1`. */
export const foundWord = (result: Result): string => Object.entries(result.meta?.found ?? {}).map(([type, times]) => `${type} ${times}`).join(", ")

/** What one guardrail did with the input. */
export const outcomeOf = ({ blocked, error, modified, skipped }: Result): { readonly tone: "bad" | "info" | "off" | "ok"; readonly word: string } =>
  skipped ? { tone: "off", word: "Did not read it" }
    : error !== undefined ? { tone: "bad", word: "Failed" }
    : blocked ? { tone: "bad", word: "Refuses it" }
    : modified ? { tone: "info", word: "Changes it" }
    : { tone: "ok", word: "Lets it pass" }

const replaced = /\[(?:[A-Z]+_REDACTED|REDACTED:[\w-]{1,100})\]/g

/** The text in pieces, each with whether it is a mark of a guardrail. */
export const piecesOf = (text: string): ReadonlyArray<{ readonly text: string; readonly isMark: boolean; readonly at: number }> => {
  const pieces: Array<{ readonly text: string; readonly isMark: boolean; readonly at: number }> = []
  let end = 0
  for (const match of text.matchAll(replaced)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), isMark: false, at: end })
    end = match.index + match[0].length
    pieces.push({ text: match[0], isMark: true, at: match.index })
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isMark: false, at: end })
  return pieces
}
