/**
 * The engine `session-dedup`: a passage that an earlier message said word for word is named instead of said again. Code, lines of errors
 * and what tools answer stay. Each text looks at earlier ones alone, so the beginning of a conversation stays the same. Pure, in linear time.
 */
import * as Masking from "#src/compression/masking.ts"
import type { Piece } from "#src/compression/Piece.ts"
import * as Validation from "#src/compression/validation.ts"

/** Characters; a shorter passage is said again. */
const shortest = 200
/** Characters of a passage that its marker repeats. */
const quoted = 40
const fence = /^ {0,3}(?:`{3}|~{3})/m
const never = (): boolean => false

const markerOf = (passage: string): string =>
  `[Same as a passage of an earlier message, ${passage.length} characters, that begins: ${JSON.stringify(passage.trimStart().slice(0, quoted).replace(/[\s\p{C}"\\]+/gu, " "))}]`

export interface Said {
  readonly text: string
  readonly validation: Validation.Validation
}

const valid: Validation.Validation = { valid: true, errors: [] }

/** Fenced code and what stands between tags is part of one passage. Null: the text holds characters of placeholders. */
const passagesOf = (text: string): ReadonlyArray<string> | null => {
  const masked = Masking.mask(text, never)
  return masked === null ? null : masked.text.split(/(\n{2,})/).map((part) => Masking.unmask(part, masked.kept))
}

const mayGo = (passage: string): boolean => passage.length >= shortest && !fence.test(passage) && !passage.split("\n").some(Masking.isErrorLine)

/** Code stays; a URL of a passage that was said before is still there. */
const checked = (before: string, after: string): Validation.Validation => {
  const [old, now] = [Masking.mask(before, never), Masking.mask(after, never)]
  const same = old !== null && now !== null && old.fences.length === now.fences.length && old.fences.every((one, i) => one === now.fences[i])
  const errors = [...same ? [] : ["Fenced code differs."], ...after.length > before.length ? ["The text grew."] : []]
  return errors.length === 0 ? valid : { valid: false, errors }
}

/** `keepsSystem`: instructions are only compared with earlier ones. */
export const compress = (pieces: ReadonlyArray<Piece>, keepsSystem: boolean): ReadonlyArray<Said> => {
  const seen = new Set<string>()
  return pieces.map(({ frozen, role, text }): Said => {
    if (role === "tool" || text.length < shortest) return { text, validation: valid }
    const passages = passagesOf(text)
    if (passages === null) return { text, validation: valid }
    const stays = frozen || (role === "system" && keepsSystem)
    const own: Array<string> = []
    const after = passages.map((passage) => {
      const marker = mayGo(passage) ? markerOf(passage) : null
      if (marker === null) return passage
      if (!stays && marker.length < passage.length && seen.has(passage)) return marker
      own.push(passage)
      return passage
    }).join("")
    // A message is not compared with itself: its own passages count from the next one on.
    for (const passage of own) seen.add(passage)
    if (after === text) return { text, validation: valid }
    const validation = checked(text, after)
    return { text: validation.valid ? after : text, validation }
  })
}
