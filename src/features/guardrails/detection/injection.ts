/**
 * Attempts to talk a model out of its instructions. Pure. Patterns say how much they are worth; a text is read for its first 16384 bytes, and
 * every gap in a pattern has a bound, so that no text takes long.
 */
import type { Finding } from "./findings.ts"

const severities = ["low", "medium", "high"] as const
export type Severity = typeof severities[number]

/** Bytes of a text that are read. */
export const SCANNED_BYTES = 16_384

interface Pattern {
  readonly type: string
  readonly severity: Severity
  readonly pattern: RegExp
}

const earlier = "(?:previous|prior|above|earlier|preceding|foregoing|former|initial|original|system|existing|your)"
const told = "(?:instructions?|prompts?|rules?|directives?|guidelines?|commands?|orders|messages?|programming)"
const filler = "(?:(?:all|any|every|the|of|these|those|this|my|other)\\s{1,8}){0,4}"

const patterns: ReadonlyArray<Pattern> = [
  {
    type: "system_override", severity: "high",
    pattern: new RegExp(`\\b(?:ignore|disregard|forget|override|bypass|(?:do not|don't) (?:follow|obey))\\s{1,8}${filler}(?:${earlier}\\s{1,8}){1,3}${told}\\b`, "gi")
  },
  {
    type: "system_override", severity: "high",
    pattern: /\b(?:ignore|disregard|forget)\s{1,8}(?:everything|all(?: of)? (?:that|this)|anything|what)\s{1,8}(?:(?:that|you|i|we|were|was|have been|has been|been)\s{1,8}){0,4}(?:told|said|written|above|before|previously|instructed)\b/gi
  },
  {
    type: "system_override", severity: "high",
    pattern: /\b(?:ignore|ignora|ignorar|desconsidere|esque[cç]a|olvida)\s{1,8}(?:(?:todas|todos|as|os|las|los|suas|tus|minhas)\s{1,8}){0,3}(?:instru[cç][õo]es|instrucciones|regras|reglas|ordens)\s{1,8}(?:anteriores|acima|pr[eé]vias|previas)(?![a-z])/gi
  },
  {
    type: "system_override_inline", severity: "high",
    pattern: /(?:^|[\n.;>\]"'({-])\s{0,8}(?:(?:new|updated|revised|real|actual)\s{1,8}(?:system\s{1,8})?(?:instructions?|prompt|directives?)|system\s{1,8}(?:override|instructions?|prompt))\s{0,4}:/gi
  },
  {
    type: "role_hijack", severity: "medium",
    pattern: /\b(?:you are now\s{1,8}(?:an?|the|no longer|in|free|unrestricted)|from now on,?\s{1,8}you\s{1,8}(?:are|will|must|shall)|pretend\s{1,8}(?:to be|that you are|you are|you have no)|act\s{1,8}as\s{1,8}(?:if you (?:are|were|had no)|an? (?:unrestricted|unfiltered|uncensored|evil))|assume the role of)\b/gi
  },
  {
    type: "system_prompt_leak", severity: "high",
    pattern: /\b(?:reveal|show|print|repeat|output|display|tell|give|leak|dump|share|write|return|what\s{1,8}(?:is|are|was|were))\s{1,8}(?:(?:me|us|all|of|out|back)\s{1,8}){0,3}(?:your|the)\s{1,8}(?:(?:full|entire|complete|exact|hidden|secret|initial|original|internal)\s{1,8}){0,3}(?:system\s{1,8}(?:prompt|message|instructions?)|(?<=(?:hidden|secret|initial|original|internal)\s{1,8})(?:prompt|instructions?))\b/gi
  },
  {
    type: "system_prompt_leak", severity: "high",
    pattern: /\b(?:repeat|print|output)\s{1,8}(?:everything|all text|the (?:text|words))\s{1,8}above\b/gi
  },
  {
    type: "delimiter_injection", severity: "high",
    pattern: /<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id|begin_of_text|end_of_turn)\|>|\[\/?INST\]|<<\/?SYS>>|<\/?system>|<(?:start|end)_of_turn>/gi
  },
  {
    type: "markdown_system_block", severity: "high",
    pattern: /(?:```|~~~)[ \t]{0,4}system\b|^#{1,6}[ \t]{1,4}(?:system[ \t]{1,4}(?:prompt|message|instructions?|override)|new[ \t]{1,4}instructions?|system[ \t]{0,4}:)/gim
  },
  {
    type: "jailbreak_dan", severity: "medium",
    pattern: /\bdo anything now\b|\bDAN\s{1,4}(?:mode|prompt|\d)|\b(?:jailbreak|jailbroken|developer|god|sudo)\s{1,4}mode\s{1,4}(?:enabled|on|activated|output)\b|\b(?:without|with no|ignoring|free of)\s{1,8}(?:any\s{1,8})?(?:ethical|moral|safety|content)\s{1,8}(?:guidelines|restrictions|filters|limits|constraints|policies)\b/gi
  },
  {
    type: "encoding_evasion", severity: "medium",
    pattern: /\b(?:decode|decrypt|decipher|translate)\s[^\n]{0,60}?\b(?:base64|rot13|hex(?:adecimal)?|morse|binary)\b[^\n]{0,80}?\b(?:follow|execute|obey|comply|carry out|do what)\b/gi
  },
  // Joiners between Latin letters hide a word from a filter, and from nothing else.
  { type: "encoding_evasion", severity: "medium", pattern: /[a-z](?:\u200b|\u200c|\u200d|\u2060|\ufeff){1,4}[a-z]/gi }
]

export interface Attempt extends Finding {
  readonly severity: Severity
}

export const atLeast = (severity: Severity, threshold: Severity): boolean => severities.indexOf(severity) >= severities.indexOf(threshold)

const measured = Buffer.alloc(SCANNED_BYTES)
const encoder = new TextEncoder()

/** The beginning of a text that is read. */
const scanned = (text: string): string => {
  if (text.length * 3 <= SCANNED_BYTES) return text
  return text.slice(0, encoder.encodeInto(text.slice(0, SCANNED_BYTES), measured).read)
}

/** Unordered; they may overlap. */
export const find = (text: string): ReadonlyArray<Attempt> => {
  const found: Array<Attempt> = []
  const head = scanned(text)
  for (const { pattern, severity, type } of patterns) {
    pattern.lastIndex = 0
    for (let match = pattern.exec(head); match !== null; match = pattern.exec(head)) {
      found.push({ start: match.index, end: match.index + match[0].length, type, severity, placeholder: `[REDACTED:${type}]` })
    }
  }
  return found
}
