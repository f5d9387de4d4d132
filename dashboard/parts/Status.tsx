/** A state: always a shape and a word beside the colour. */
export type Tone = "ok" | "warn" | "bad" | "info" | "skip" | "off"

const shapes: Readonly<Record<Tone, string>> = { ok: "●", warn: "◐", bad: "✕", info: "◷", skip: "◇", off: "○" }

export const Status = ({ shape, tone, word, title }: { readonly tone: Tone; readonly word: string; readonly shape?: string; readonly title?: string | undefined }) => (
  <span className={`status status-${tone}`} title={title}>
    <span aria-hidden="true">{shape ?? shapes[tone]}</span>
    {word === "" ? null : <span>{word}</span>}
  </span>
)
