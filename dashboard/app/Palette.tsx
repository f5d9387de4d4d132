/** Go to a screen, or find a request, connection or key by any part of its name or id. */
import { useNavigate } from "@tanstack/react-router"
import { useId, useState } from "react"
import { Dialog } from "../parts/Dialog.tsx"
import { areas } from "./screens.ts"

interface Entry {
  readonly word: string
  readonly go: () => unknown
}

const Palette = ({ onClose }: { readonly onClose: () => void }) => {
  const navigate = useNavigate()
  const id = useId()
  const [text, setText] = useState("")
  const [at, setAt] = useState(0)
  const wanted = text.trim().toLowerCase()
  const screens = [...areas.flatMap(({ screens }) => screens), { path: "/welcome", word: "First steps" } as const]
  const entries: ReadonlyArray<Entry> = [
    ...screens.filter(({ word }) => word.toLowerCase().includes(wanted)).map(({ path, word }): Entry => ({ word, go: () => navigate({ to: path }) })),
    ...(wanted.length < 2 ? [] : [{ word: `Find “${text.trim()}” in requests`, go: () => navigate({ to: "/requests", search: { search: text.trim() } }) }])
  ]
  const chosen = Math.min(at, entries.length - 1)
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    void entry.go()
  }
  return (
    <Dialog title="Go to" onClose={onClose} onSubmit={() => run(entries[chosen])}>
      <input
        className="input" type="text" role="combobox" aria-label="Screen or id" aria-expanded="true" aria-controls={id} aria-activedescendant={entries.length === 0 ? undefined : `${id}-${chosen}`}
        autoFocus autoComplete="off" placeholder="Screen, request id, model, key …" value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return
          event.preventDefault()
          setAt(Math.max(0, Math.min(entries.length - 1, chosen + (event.key === "ArrowDown" ? 1 : -1))))
        }}
      />
      <div className="palette-list" id={id} role="listbox" aria-label="Places">
        {entries.map((entry, index) => (
          // The field keeps the focus and its keys choose; the pointer is the second way.
          <button type="button" key={entry.word} id={`${id}-${index}`} role="option" aria-selected={index === chosen} tabIndex={-1} onMouseEnter={() => setAt(index)} onClick={() => run(entry)}>{entry.word}</button>
        ))}
      </div>
    </Dialog>
  )
}

export default Palette
