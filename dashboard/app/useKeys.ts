/** Keys that act on the whole page. They belong to a field while somebody types in it, and to a window while one is open. */
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useRef } from "react"
import * as Notes from "../api/notes.ts"
import { copyText } from "../parts/Copy.tsx"
import { keysAct, toggleBlur } from "./privacy.ts"
import { areas } from "./screens.ts"

/** After `g` the next letter must come within this time, ms. */
const CHORD_MS = 1_200

const all = areas.flatMap(({ screens }) => screens)

const isTaken = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select")) || document.querySelector("dialog[open]") !== null

export type Overlay = "palette" | "help" | "curl"

export const useKeys = (open: (overlay: Overlay) => void): void => {
  const navigate = useNavigate()
  const chord = useRef(Number.NEGATIVE_INFINITY)
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key === "k") {
        event.preventDefault()
        open("palette")
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTaken(event.target) || !keysAct()) return
      if (event.timeStamp - chord.current <= CHORD_MS) {
        chord.current = Number.NEGATIVE_INFINITY
        const screen = all.find(({ key }) => key === event.key)
        if (screen !== undefined) void navigate({ to: screen.path })
        return
      }
      switch (event.key) {
        case "g":
          chord.current = event.timeStamp
          return
        case "/": {
          const search = document.querySelector<HTMLInputElement>("input[type=search]")
          if (search === null) return
          event.preventDefault()
          search.focus()
          return
        }
        case "?":
          open("help")
          return
        case "c":
          void copyText(window.location.href).then((done) => Notes.tell(done ? "The link to this view is copied." : "The link could not be copied: take it from the address bar.", { isBad: !done }))
          return
        case "y":
          open("curl")
          return
        case "P":
          Notes.tell(toggleBlur() ? "Names, prompts and money are blurred. Shift P shows them again." : "Everything is shown again.")
      }
    }
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [navigate, open])
}
