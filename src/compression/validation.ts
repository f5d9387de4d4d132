/** Compares a compressed text with its original: code, URLs and everything else that must stay. Pure. */
import * as Masking from "./masking.ts"

export interface Validation {
  readonly valid: boolean
  readonly errors: ReadonlyArray<string>
}

const ok: Validation = { valid: true, errors: [] }
const none = (): boolean => false

const differs = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): boolean =>
  before.length !== after.length || before.some((piece, i) => piece !== after[i])

/** Both texts with what stays in them; null = one of them cannot be read so. */
export interface Read {
  readonly before: Masking.Masked | null
  readonly after: Masking.Masked | null
}

export const read = (before: string, after: string): Read => ({ before: Masking.mask(before, none), after: Masking.mask(after, none) })

/** `pieces`: the kept pieces are all still there, in their order; else only fenced code and URLs are compared. */
export const compare = (before: string, after: string, pieces: boolean, masked: Read = read(before, after)): Validation => {
  if (before === after) return ok
  const { after: now, before: old } = masked
  const errors: Array<string> = []
  if (old === null || now === null) errors.push("The text holds reserved characters.")
  else {
    if (differs(old.fences, now.fences)) errors.push("Fenced code differs.")
    if (pieces && old.kept.length !== now.kept.length) errors.push(`${old.kept.length} preserved blocks became ${now.kept.length}.`)
    else if (pieces && differs(old.kept, now.kept)) errors.push("Preserved blocks differ.")
  }
  if (differs(Masking.urlsIn(before), Masking.urlsIn(after))) errors.push("URLs differ.")
  if (after.length > before.length) errors.push("The text grew.")
  return errors.length === 0 ? ok : { valid: false, errors }
}
