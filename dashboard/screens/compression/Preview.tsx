/** What a mode would do to a prompt, or the filters to an output of a command, with what is not saved yet; nothing is stored or sent. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { count, duration, percent, tokens } from "../../format/numbers.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { AreaField, SelectField, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { type Change, modeOf, modes } from "./draft.ts"

type Prompt = Answer<"POST /api/compression/preview">
type Output = Answer<"POST /api/context/rtk/test">

const kinds = [{ value: "prompt", word: "What a user says" }, { value: "messages", word: "Messages of a chat completion, JSON" }, { value: "output", word: "Output of a command" }]
/** Characters of one text, and texts, that are drawn. */
const SHOWN = 20_000
const TEXTS = 20

const cut = (text: string): string => text.length <= SHOWN ? text : `${text.slice(0, SHOWN)} …`

/** Null: they are no messages. */
const messagesIn = (text: string): Prompt["original"] | null => {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value.length > 0 ? value as Prompt["original"] : null
  } catch {
    return null
  }
}

const Sum = ({ of: { compressedTokens, durationMs, originalTokens, techniquesUsed, tokensSaved, validation } }: { readonly of: Output | Prompt }) => (
  <p className="wrap" role="status">
    <Status tone={tokensSaved > 0 ? "ok" : "off"} word={tokensSaved > 0 ? `${percent(tokensSaved / Math.max(1, originalTokens))} saved` : "Nothing is saved"} />
    <span className="small muted number"> ≈ {tokens(originalTokens)} tokens before, {tokens(compressedTokens)} after, in {duration(durationMs)}{techniquesUsed.length === 0 ? "" : `; ${techniquesUsed.join(", ")}`}</span>
    {validation.valid ? null : <span className="small"> {validation.errors.join(" ")}</span>}
  </p>
)

const Pair = ({ after, before, path }: { readonly path: string; readonly before: string; readonly after: string }) => (
  <section className="columns" aria-label={path}>
    <div className="stack-tight"><h3>{path}, before</h3><pre className="well well-scroll" tabIndex={0} aria-label={`${path}, before`}>{cut(before)}</pre></div>
    <div className="stack-tight"><h3>{path}, after</h3><pre className="well well-scroll" tabIndex={0} aria-label={`${path}, after`}>{cut(after)}</pre></div>
  </section>
)

const OfPrompt = ({ seen }: { readonly seen: Prompt }) => (
  <div className="stack">
    <Sum of={seen} />
    {seen.skippedReasons.length === 0 ? null : <p className="small muted wrap">{seen.skippedReasons.join(" ")}</p>}
    {seen.ruleRemovals.length === 0 ? null : <p className="small muted wrap">{seen.ruleRemovals.map(({ count: times, rule }) => `${rule} ${count(times)}`).join(", ")}</p>}
    {seen.diff.slice(0, TEXTS).map((text) => <Pair key={text.path} {...text} />)}
    {seen.diff.length > TEXTS ? <p className="small muted">{count(seen.diff.length - TEXTS)} more texts are not drawn.</p> : null}
  </div>
)

const OfOutput = ({ seen }: { readonly seen: Output }) => (
  <div className="stack">
    <Sum of={seen} />
    <p className="small muted wrap">{seen.detection.label === null ? "No filter knows it." : `Filter ${seen.detection.label}, known by its ${seen.detection.by ?? "command"}.`}{seen.detection.by === "output" ? " Requests only shorten the output of known commands." : ""}</p>
    <Pair path="Output" before={seen.original} after={seen.compressed} />
  </div>
)

/** `config`: what is not saved yet. */
export const Preview = ({ config }: { readonly config: Change }) => {
  const [kind, setKind] = useState("prompt")
  const [mode, setMode] = useState("standard")
  const [text, setText] = useState("")
  const [command, setCommand] = useState("")
  const prompt = useChange("POST /api/compression/preview", [])
  const output = useChange("POST /api/context/rtk/test", [])
  const messages = kind === "messages" ? messagesIn(text) : [{ role: "user", content: text }]
  const isDraft = Object.keys(config).length > 0
  const busy = prompt.isPending || output.isPending
  const canTry = text !== "" && messages !== null && !busy
  const go = (): void => {
    if (!canTry || messages === null) return
    if (kind === "output") output.mutate({ body: { text, command: command === "" ? null : command, ...(config.rtkConfig === undefined ? {} : { config: config.rtkConfig }) } })
    else prompt.mutate({ body: { messages, mode: modeOf(mode), ...(isDraft ? { config } : {}) } })
  }
  const error = kind === "output" ? output.error : prompt.error
  return (
    <Panel title="Preview" actions={isDraft ? <span className="tag">with what is not saved yet</span> : null}>
      <Form onSubmit={() => go()}>
        <div className="grid-fields">
          <SelectField label="Input" value={kind} choices={kinds} onChange={setKind} />
          {kind === "output" ? <TextField label="Command" value={command} onChange={setCommand} placeholder="npm test" hint="Empty: known by its lines" /> : <SelectField label="Mode" value={mode} choices={modes} onChange={setMode} />}
        </div>
        <AreaField
          label={kind === "output" ? "Output" : kind === "messages" ? "Messages" : "Prompt"} rows={6} value={text} onChange={setText} hint="Ctrl Enter tries it. Nothing is stored or sent to a provider."
          wrong={text !== "" && messages === null ? "Expected a list of messages as JSON" : undefined}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go()
          }}
        />
        <div className="row"><Button type="submit" kind="primary" disabled={!canTry}>Show what would be sent</Button></div>
        <Failure what="It was not tried" error={error} />
        {error !== null || (kind === "output" ? output.data === undefined : prompt.data === undefined) ? null : kind === "output" ? output.data === undefined ? null : <OfOutput seen={output.data} /> : prompt.data === undefined ? null : <OfPrompt seen={prompt.data} />}
      </Form>
    </Panel>
  )
}
