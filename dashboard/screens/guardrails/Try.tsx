/** What the guardrails of requests would do with a text now; nothing is sent, counted or logged. */
import { useState } from "react"
import { useChange } from "../../api/query.ts"
import type { Answer } from "../../api/contract.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { AreaField, Check, SelectField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { foundWord, known, outcomeOf, piecesOf } from "./words.ts"

type Tried = Answer<"POST /api/guardrails/test">

const kinds = [{ value: "text", word: "A text" }, { value: "json", word: "JSON, of which every text is read" }]
/** More of an answer is not drawn. */
const SHOWN = 20_000

/** Undefined: it is no JSON. */
const jsonOf = (text: string): Tried["payload"] | undefined => {
  try {
    return JSON.parse(text) as Tried["payload"]
  } catch {
    return undefined
  }
}

const Marked = ({ payload }: { readonly payload: Tried["payload"] }) => {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload, null, 2)
  const shown = text.slice(0, SHOWN)
  return (
    <div className="stack-tight">
      <h3>As it would go upstream</h3>
      <pre className="well well-scroll" tabIndex={0} aria-label="As it would go upstream">{piecesOf(shown).map((piece) => piece.isMark ? <mark key={piece.at}>{piece.text}</mark> : piece.text)}</pre>
      {shown.length === text.length ? null : <p className="small muted">The beginning; the rest is not drawn.</p>}
    </div>
  )
}

const Verdict = ({ tried }: { readonly tried: Tried }) => (
  <div className="stack">
    <p className="wrap" role="status">
      {tried.blocked ? <Status tone="bad" word="It would be refused" /> : tried.results.some(({ modified }) => modified) ? <Status tone="info" word="It would pass, changed" /> : <Status tone="ok" word="It would pass as it is" />}
      {tried.message === null ? null : <span className="small"> {tried.message}</span>}
    </p>
    <Table label="What each guardrail did">
      <Head of={["Guardrail", "Mode", "Outcome", "Found"]} />
      <tbody>
        {tried.results.map((result) => {
          const { tone, word } = outcomeOf(result)
          return (
            <tr key={result.guardrail}>
              <td>{known[result.guardrail]?.word ?? result.guardrail}</td><td>{result.meta?.mode ?? "off"}</td><td><Status tone={tone} word={word} /></td>
              <td className="wrap">{result.error ?? (foundWord(result) || "–")}</td>
            </tr>
          )
        })}
      </tbody>
    </Table>
    {tried.blocked ? null : <Marked payload={tried.payload} />}
  </div>
)

export const Try = ({ names }: { readonly names: ReadonlyArray<string> }) => {
  const [kind, setKind] = useState("text")
  const [text, setText] = useState("")
  const [left, setLeft] = useState<ReadonlyArray<string>>([])
  const test = useChange("POST /api/guardrails/test", [])
  const input = kind === "json" ? jsonOf(text) : text
  const canTry = text !== "" && input !== undefined && !test.isPending
  const go = (): void => {
    if (input !== undefined && canTry) test.mutate({ body: { input, ...(left.length === 0 ? {} : { disabledGuardrails: left }) } })
  }
  return (
    <Panel title="Try them">
      <Form onSubmit={() => go()}>
        <SelectField label="Input" value={kind} choices={kinds} onChange={setKind} />
        <AreaField
          label="What a client might send" value={text} rows={5} onChange={setText} hint="Ctrl Enter tries it. Nothing is sent to a provider, counted or logged."
          wrong={kind === "json" && text !== "" && input === undefined ? "This is no JSON" : undefined}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go()
          }}
        />
        <fieldset className="row" style={{ border: 0, padding: 0, margin: 0 }}>
          <legend className="label">Without</legend>
          {names.map((name) => <Check key={name} checked={left.includes(name)} onChange={(on) => setLeft(on ? [...left, name] : left.filter((each) => each !== name))}>{known[name]?.word ?? name}</Check>)}
        </fieldset>
        <div className="row"><Button type="submit" kind="primary" disabled={!canTry}>Try it</Button></div>
        <Failure what="It was not tried" error={test.error} />
        {test.data === undefined || test.error !== null ? null : <Verdict tried={test.data} />}
      </Form>
    </Panel>
  )
}
