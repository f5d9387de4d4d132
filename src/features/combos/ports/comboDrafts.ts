/** Combos as another feature reads and makes them: in the form of the API, with the API's own checks. Pure. */
import type * as Refusal from "#schemas/api/Refusal.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import * as Acting from "#src/features/combos/acting.ts"
import { type ComboChange, NewCombo } from "#src/features/combos/api.ts"
import * as ComboRecord from "#src/features/combos/comboRecord.ts"
import * as Members from "#src/features/combos/members.ts"
import { inertIssues } from "#src/management/acting.ts"

export { NewCombo }

/** A combo in the place of `previous`, or a new one that stands at `place` unless it names another. */
export const drafted = (input: NewCombo, previous: Combo | null, place: number, making: ComboRecord.Making): Combo | Refusal.Refusal =>
  previous === null ? ComboRecord.make(input, place, making) : ComboRecord.apply(previous, input as ComboChange, making)

export const shown = ComboRecord.shown

/** Fields that do not act. */
export const inertOf = (input: NewCombo): ReadonlyArray<Refusal.FieldIssue> => inertIssues(Acting.combo, input)

/** Members that name nothing. */
export const strangersOf = Members.issuesOf
