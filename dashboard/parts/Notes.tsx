/** Notes at the edge of the page: what was done, on how many nodes it acts, and a button that takes it back. */
import { useState, useSyncExternalStore } from "react"
import { current, forget, type Note, subscribe, tell } from "../api/notes.ts"
import { queryClient } from "../api/query.ts"
import { Icon } from "./Icon.tsx"
import { Button } from "./Button.tsx"

const Row = ({ note }: { readonly note: Note }) => {
  const [isBusy, setBusy] = useState(false)
  const undo = (): void => {
    if (note.undo === null) return
    setBusy(true)
    void note.undo().then(
      () => tell(`Taken back: ${note.text}`),
      (error: unknown) => tell(`It could not be taken back: ${error instanceof Error ? error.message : String(error)}`, { isBad: true })
    ).finally(() => {
      forget(note.id)
      void queryClient.invalidateQueries()
    })
  }
  return (
    <li className={note.isBad ? "note note-bad" : "note"}>
      <p className="wrap">{note.text}{note.receipt === null ? null : <span className="small muted number"> {note.receipt}</span>}</p>
      {note.undo === null ? null : <Button kind="small" disabled={isBusy} onClick={undo}>Undo</Button>}
      <Button kind="small quiet icon" aria-label="Close the note" onClick={() => forget(note.id)}><Icon name="close" size={16} /></Button>
    </li>
  )
}

export const Notes = () => {
  const notes = useSyncExternalStore(subscribe, current)
  return <div className="notes" role="status" aria-label="Notes">{notes.length === 0 ? null : <ul>{notes.map((note) => <Row key={note.id} note={note} />)}</ul>}</div>
}
