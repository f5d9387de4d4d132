/** A modal window over the browser's own `<dialog>`: it keeps the focus, Esc closes it, the focus returns to where it was. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react"
import { CodeBlock } from "./Copy.tsx"
import { Failure } from "./Feedback.tsx"
import { TextField } from "./Field.tsx"
import { Form } from "./edit/Form.tsx"
import { Icon } from "./Icon.tsx"
import { Button } from "./Button.tsx"

interface Props {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly wide?: boolean
  /** A form's submit; without it the window holds no form. */
  readonly onSubmit?: () => void
  /** What the window asks for must be answered. */
  readonly stays?: boolean
}

export const Dialog = ({ children, onClose, onSubmit, stays = false, title, wide = false }: Props) => {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    if (dialog === null) return
    const before = document.activeElement
    dialog.showModal()
    return () => {
      dialog.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const content = (
    <>
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        {stays ? null : <Button kind="small quiet icon" aria-label="Close" onClick={onClose}><Icon name="close" /></Button>}
      </div>
      {children}
    </>
  )
  return (
    <dialog
      ref={ref}
      className={wide ? "wide" : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!stays) onClose()
      }}
    >
      {onSubmit === undefined ? <div className="dialog">{content}</div> : (
        <Form className="" onSubmit={onSubmit}>{content}</Form>
      )}
    </dialog>
  )
}

/** A value that is shown this once; nothing keeps it after the window is closed. `label`: what it is. */
export const Once = ({ children, label, lead = "It is shown this once: the gateway keeps only its hash. Copy it before you close this window.", onClose, title, value }: {
  readonly title: string
  readonly label: string
  readonly value: string
  readonly lead?: string
  readonly children?: ReactNode
  readonly onClose: () => void
}) => (
  <Dialog title={title} wide={children !== undefined} stays onClose={onClose}>
    <p>{lead}</p>
    <CodeBlock label={label} text={value} />
    {children}
    <div className="dialog-foot"><Button kind="primary" onClick={onClose}>I have copied it</Button></div>
  </Dialog>
)

/** Asks before something is lost for good. */
export const Confirm = ({ children, confirm, error, failed, isBlocked = false, onClose, onConfirm, pending, title, typed }: {
  readonly title: string
  readonly confirm: string
  readonly children: ReactNode
  readonly pending: boolean
  /** Said when it did not go. */
  readonly failed: string
  readonly error: Error | null
  /** What must be typed first, where the act takes much with it. */
  readonly typed?: string | undefined
  /** Something else of the window is not right yet. */
  readonly isBlocked?: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
}) => {
  const [text, setText] = useState("")
  return (
    <Dialog title={title} onClose={onClose} onSubmit={onConfirm}>
      <div className="wrap">{children}</div>
      {typed === undefined ? null : <TextField label={`Type “${typed}” to go on`} value={text} onChange={setText} />}
      <Failure what={failed} error={error} />
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="danger" disabled={pending || isBlocked || typed !== undefined && text !== typed}>{confirm}</Button>
      </div>
    </Dialog>
  )
}
