/** Somebody else changed the same while it was edited: theirs and yours, side by side, before one of them is lost. */
import { useState } from "react"

export interface Clash {
  readonly field: string
  readonly theirs: string
  readonly yours: string
}

type Fields = Readonly<Record<string, unknown>>

const shown = (value: unknown): string => value === null || value === undefined || value === "" ? "nothing" : typeof value === "object" ? JSON.stringify(value, null, 2) : String(value)
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Fields that both changed, and not to the same. `before`: as it was when the editing began. */
export const clashesOf = (before: Fields, now: Fields, yours: Fields): ReadonlyArray<Clash> => Object.keys(yours).flatMap((field) =>
  isSame(before[field], now[field]) || isSame(now[field], yours[field]) ? [] : [{ field, theirs: shown(now[field]), yours: shown(yours[field]) }])

/** Looks at the record once more before a save; a second press overwrites what was shown. */
export const useTheirs = (look: () => Promise<Fields>, before: Fields) => {
  const [clashes, setClashes] = useState<ReadonlyArray<Clash>>([])
  const [isBusy, setBusy] = useState(false)
  const save = async (yours: Fields, go: () => void): Promise<void> => {
    if (clashes.length > 0) return go()
    setBusy(true)
    try {
      // A record that cannot be read is refused by the save itself, with its reason.
      const now = await look().catch(() => before)
      const found = clashesOf(before, now, yours)
      setClashes(found)
      if (found.length === 0) go()
    } finally {
      setBusy(false)
    }
  }
  return { clashes, isBusy, save }
}

export const Theirs = ({ clashes }: { readonly clashes: ReadonlyArray<Clash> }) => clashes.length === 0 ? null : (
  <div className="failure" role="alert">
    <p><strong>Somebody else changed the same meanwhile</strong></p>
    <table className="table" aria-label="Theirs and yours">
      <thead><tr><th scope="col">Field</th><th scope="col">Theirs</th><th scope="col">Yours</th></tr></thead>
      <tbody>{clashes.map(({ field, theirs, yours }) => <tr key={field}><td>{field}</td><td className="wrap"><pre>{theirs}</pre></td><td className="wrap"><pre>{yours}</pre></td></tr>)}</tbody>
    </table>
    <p className="small">Save again to overwrite theirs, or close this window to keep it.</p>
  </div>
)
