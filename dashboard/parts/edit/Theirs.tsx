/** Somebody else changed the same while it was edited: theirs and yours, side by side, before one of them is lost. */
import { type ReactNode, useState } from "react"
import { useRead } from "../../api/query.ts"
import { CopyButton } from "../Copy.tsx"
import { Icon } from "../Icon.tsx"

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

/** Whether the configuration file declares it: then it is changed there. */
export const isOwned = ({ owner }: { readonly owner: "file" | "database" }): boolean => owner === "file"

const Lock = () => {
  const file = useRead("GET /api/config-file").data?.file ?? null
  return <span className="tag nowrap" title={file === null ? "Declared in the configuration file, or by the gateway that this one follows" : `Declared in ${file}`}><Icon name="leases" size={14} /> in {file === null ? "the configuration file" : file.split("/").at(-1)}</span>
}

/** Says where a record is declared. */
export const Owned = ({ record }: { readonly record: { readonly owner: "file" | "database" } }) => isOwned(record) ? <Lock /> : null

/** The button that saves; in its place, of a record of the file, one that copies what to write there: JSON, which YAML holds. */
export const SaveOrCopy = ({ body, children, name, owner, section }: {
  readonly owner: "file" | "database"; readonly section: string; readonly name: string; readonly body: object | null; readonly children: ReactNode
}) => owner === "database" ? children : (
  <>
    <span className="small muted wrap">The configuration file declares it, or the gateway that this one follows. Write this there, then apply it here.</span>
    {/* Before the form knows its record, a copy would take away what the file says. */}
    {body === null ? null : <CopyButton value={`${section}:\n  ${JSON.stringify(name)}: ${JSON.stringify(body)}\n`}>Copy as YAML</CopyButton>}
  </>
)
