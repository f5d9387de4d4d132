import { type ReactNode, useEffect, useState } from "react"
import { Icon } from "./Icon.tsx"
import { Button } from "./Button.tsx"

const SAID_MS = 1_600

/** The clipboard needs a secure origin; over plain http from another machine the text is selected in a field instead. */
export const copyText = async (text: string): Promise<boolean> => {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      // Refused by the browser: the older way may still work.
    }
  }
  const field = document.createElement("textarea")
  field.value = text
  const host = document.querySelector("dialog[open]") ?? document.body
  host.append(field)
  field.select()
  const done = document.execCommand("copy")
  field.remove()
  return done
}

const useCopy = (value: string) => {
  const [said, setSaid] = useState<string | null>(null)
  useEffect(() => {
    if (said === null) return
    const timer = setTimeout(() => setSaid(null), SAID_MS)
    return () => clearTimeout(timer)
  }, [said])
  return { said, run: () => void copyText(value).then((done) => setSaid(done ? "Copied" : "Not copied")) }
}

/** A short value that a click copies; long ones are cut in the middle. */
export const Copy = ({ most = 18, value }: { readonly value: string; readonly most?: number }) => {
  const { run, said } = useCopy(value)
  const half = Math.floor((most - 1) / 2)
  const shown = value.length <= most ? value : `${value.slice(0, half)}…${value.slice(-half)}`
  return (
    <button type="button" className="button button-quiet button-small mono" title={value} onClick={run}>
      <span>{said ?? shown}</span>
      <span className="hidden-text"> (copy)</span>
    </button>
  )
}

/** A block of text with a button that copies it. */
export const CodeBlock = ({ label, text }: { readonly text: string; readonly label: string }) => {
  const { run, said } = useCopy(text)
  return (
    <div className="code well">
      <pre tabIndex={0} aria-label={label}>{text}</pre>
      <Button kind="small" onClick={run} aria-label={`Copy ${label}`}><Icon name={said === null ? "copy" : "check"} size={15} />{said ?? "Copy"}</Button>
    </div>
  )
}

export const CopyButton = ({ children, value }: { readonly value: string; readonly children: ReactNode }) => {
  const { run, said } = useCopy(value)
  return <Button onClick={run}><Icon name="copy" size={16} />{said ?? children}</Button>
}

/** Hands a text to the browser as a file. */
export const save = (name: string, type: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
