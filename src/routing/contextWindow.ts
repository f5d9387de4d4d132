/** Prompts that are longer than the context window of every target that could be asked: refused before anything is spent. Pure. */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { Mode } from "#schemas/words/Compression.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import type { Candidate, Moment, PromptLength, Skipped } from "#src/routing/models/candidate.ts"
import * as Selection from "#src/routing/selection.ts"
import { overflowOf } from "#src/routing/strategies/filter.ts"
import * as Unavailable from "#src/routing/unavailable.ts"

/** The refusal of a single model; null while one of its targets may be large enough. Windows are remembered with the plan. */
export const refusals = (factsOf: (target: Target) => Pick<Candidate, "contextWindow">) => {
  const windows = new WeakMap<Target, number | null>()
  const overflowAt = (target: Target, moment: Moment) => {
    let window = windows.get(target)
    if (window === undefined) windows.set(target, window = factsOf(target).contextWindow)
    return overflowOf(target, window, moment)
  }
  return (targets: ReadonlyArray<Target>, moment: Moment, face: CallFormat): Unavailable.Blocked | null => {
    const { length = null } = moment
    if (length === null) return null
    for (let i = 0; i < targets.length; i++) if (overflowAt(targets[i] as Target, moment) === null) return null
    if (length.mayShrink()) return null
    return Unavailable.tooLong(face, {
      combo: null, refused: [],
      skipped: Selection.candidatesOf(targets).flatMap((candidate): ReadonlyArray<Skipped> => {
        const unavailable = overflowAt(candidate.target, moment)
        return unavailable === null ? [] : [{ candidate, unavailable }]
      })
    })
  }
}

/** How long a request's prompt is, for a combo's targets, too. */
export interface RequestLength extends PromptLength {
  /** Whether a target of the combo may be sent less than the client said. */
  readonly mayBeShortened: (combo: Combo, target: Target) => boolean
  /** `mayShrink` of a combo's request. `mode`: config.compressionMode with its defaults. */
  readonly mayShrinkIn: (combo: Combo, mode: Mode | null) => boolean
}

/** The check for targets of a combo; none for the stages of a pipeline, of which the later ones read the answer before theirs. */
export const checkOf = (combo: Combo, length: RequestLength | null, mode: Mode | null): PromptLength | null => length === null || combo.strategy === "pipeline" ? null : {
  beyond: (target, window) => {
    const tokens = length.beyond(target, window)
    return tokens === null || length.mayBeShortened(combo, target) ? null : tokens
  },
  mayShrink: () => length.mayShrinkIn(combo, mode)
}
