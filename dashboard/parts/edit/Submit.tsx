/** The end of a form: what somebody else changed meanwhile, what was refused, the button that submits, and the way back. */
import type { ReactNode } from "react"
import { Failure } from "../Feedback.tsx"
import { type Clash, Theirs } from "./Theirs.tsx"
import { Button } from "../Button.tsx"

interface Sent {
  readonly error: Error | null
  readonly isPending: boolean
}

export const Submit = ({ around, children = "Save", extra, failed, isOff = false, isSame = false, kind = "primary", name, of, onClose, onDiscard, theirs }: {
  /** What the form sends: the first failure is shown, and while one is under way nothing is sent. */
  readonly of: Sent | ReadonlyArray<Sent>
  /** Said of a failure. */
  readonly failed: string
  readonly theirs?: { readonly clashes: ReadonlyArray<Clash>; readonly isBusy: boolean }
  /** It cannot be sent: a field is open. */
  readonly isOff?: boolean
  /** Nothing is changed. */
  readonly isSame?: boolean
  /** Word of the button; Save by default. */
  readonly children?: ReactNode
  readonly kind?: "primary" | "danger"
  /** What is saved, where a page holds several forms: `the prompt`. */
  readonly name?: string
  /** Of a window: it has a button that closes it. */
  readonly onClose?: () => void
  /** Of a form on the page: what is typed goes back to what is stored. */
  readonly onDiscard?: () => void
  /** Another button before it. */
  readonly extra?: ReactNode
  /** What may stand in place of the button. */
  readonly around?: (button: ReactNode) => ReactNode
}) => {
  const all = "error" in of ? [of] : of
  const isOver = theirs !== undefined && theirs.clashes.length > 0
  const button = (
    <button type="submit" className={`button button-${kind}`} disabled={isOff || isSame || theirs?.isBusy === true || all.some(({ isPending }) => isPending)} aria-label={isOver || name === undefined ? undefined : `Save ${name}`}>
      {isOver ? "Save mine" : children}
    </button>
  )
  return (
    <>
      {theirs === undefined ? null : <Theirs clashes={theirs.clashes} />}
      <Failure what={failed} error={all.find(({ error }) => error !== null)?.error} />
      <div className={onDiscard === undefined ? "dialog-foot" : "row"}>
        {onClose === undefined ? null : <Button onClick={onClose}>Cancel</Button>}
        {extra}
        {around === undefined ? button : around(button)}
        {onDiscard === undefined ? null : <Button disabled={isSame} onClick={onDiscard} aria-label={name === undefined ? undefined : `Discard the change of ${name}`}>Discard</Button>}
      </div>
    </>
  )
}
