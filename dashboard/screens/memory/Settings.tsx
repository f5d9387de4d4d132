/** Whether models are told what is remembered, how much and what is chosen; and how entries are compared. */
import { useId, useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useEveryKey } from "../../api/everyKey.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, counted, duration } from "../../format/numbers.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { Check, choicesOf, SelectField, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status, type Tone } from "../../parts/Status.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"
import { nobody, ownerOf } from "./words.ts"

type Stored = Answer<"GET /api/settings/memory">
type Change = Body<"PUT /api/settings/memory">

const names = ["memoryEnabled", "memoryMaxTokens", "memoryRetentionDays", "memoryStrategy", "embeddingSource"] as const
const strategies = [{ value: "hybrid", word: "By the question and by age" }, { value: "semantic", word: "What the question asks for" }, { value: "recent", word: "The newest" }] as const

const textsOf = (stored: Stored) => ({ ...stored, memoryMaxTokens: String(stored.memoryMaxTokens), memoryRetentionDays: String(stored.memoryRetentionDays) })
type Draft = ReturnType<typeof textsOf>

export const Settings = ({ stored }: { readonly stored: Stored }) => {
  const list = useId()
  const models = useRead("GET /api/memory/embedding-providers").data?.providers ?? []
  const [draft, setDraft] = useDraft(stored, textsOf)
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const now = { ...draft, memoryMaxTokens: Number(draft.memoryMaxTokens), memoryRetentionDays: Number(draft.memoryRetentionDays), embeddingSource: draft.embeddingSource.trim() || "auto" }
  const changed = names.filter((name) => now[name] !== stored[name])
  const change: Change = Object.fromEntries(changed.map((name) => [name, now[name]]))
  const save = useChange("PUT /api/settings/memory", ["GET /api/settings/memory", "GET /api/memory/engine-status"], (answer) => setDraft(textsOf(answer)), {
    said: "How models are told is changed.",
    undo: (_, { body }) => () => call("PUT /api/settings/memory", { body: Object.fromEntries(Object.keys(body ?? {}).map((name) => [name, stored[name as keyof Stored]])) as Change })
  })
  const theirs = useTheirs(async () => ({ ...(await call("GET /api/settings/memory")) }), { ...stored })
  const field = fieldsOf(draft, put, save.error)
  return (
    <Panel title="What models are told">
      <Form onSubmit={() => void theirs.save({ ...change }, () => save.mutate({ body: change }))}>
        <Check checked={draft.memoryEnabled} onChange={(memoryEnabled) => put({ memoryEnabled })}>Models are told what is remembered for their caller</Check>
        <div className="grid-fields">
          <TextField label="Tokens at most" type="number" {...field("memoryMaxTokens")} hint="Estimated; 0: nothing is told" />
          <TextField label="Days" type="number" {...field("memoryRetentionDays")} hint="An entry is told so long after its last change; 0: always" />
          <SelectField label="Where not all fits" {...field("memoryStrategy")} choices={strategies} />
          <TextField label="Model that compares meanings" {...field("embeddingSource")} list={list} hint="auto: none, words alone decide. Its vendor reads the entries." />
        </div>
        <datalist id={list}>{models.flatMap(({ id: provider, models: own }) => own.map(({ id }) => id.startsWith(`${provider}/`) ? id : `${provider}/${id}`)).map((id) => <option key={id} value={id}>{id}</option>)}</datalist>
        {changed.length === 0 ? null : <Changes list={changed.map((what) => ({ what, before: String(stored[what]), after: String(now[what]) }))} />}
        <Submit failed="Nothing was changed" of={save} theirs={theirs} isSame={changed.length === 0} isOff={draft.memoryMaxTokens === "" || draft.memoryRetentionDays === ""} onDiscard={() => setDraft(textsOf(stored))} />
      </Form>
    </Panel>
  )
}

const parts: Readonly<Record<"ok" | "failed" | "not_used", { readonly tone: Tone; readonly word: string }>> = { ok: { tone: "ok", word: "Works" }, failed: { tone: "bad", word: "Failed" }, not_used: { tone: "off", word: "Not used" } }

/** How entries are chosen on this node, and the way to embed them again. */
export const Engine = ({ everyMs }: { readonly everyMs: number }) => {
  const status = useRead("GET /api/memory/engine-status", {}, { everyMs })
  const health = useRead("GET /api/memory/health", {}, { everyMs })
  const keys = useEveryKey().data ?? []
  const [owner, setOwner] = useState("")
  const reindex = useChange("POST /api/memory/reindex", ["GET /api/memory/engine-status"], undefined, {
    said: ({ model, queued, removed }) => `Embedded again by ${model}: ${counted(queued, "caller", "callers")} in the background; ${counted(removed, "vector", "vectors")} went.`, isRecord: false
  })
  return (
    <Panel title="How entries are found">
      <Loaded read={health} what="The state of the memory" rows={2}>
        {({ database, embeddings, error, latencyMs, vectorIndex }) => (
          <div className="panel-body">
            <dl className="pairs">
              <dt>Entries are read</dt><dd><Status {...parts[database.status]} /> <span className="small muted">in {duration(latencyMs)}</span></dd>
              <dt>Embeddings</dt><dd><Status {...parts[embeddings.status]} /></dd>
              <dt>Vectors</dt><dd><Status {...parts[vectorIndex.status]} /></dd>
              {status.data === undefined ? null : (
                <>
                  <dt>Waiting for vectors</dt><dd>{counted(status.data.embedding.queued, "caller", "callers")}{status.data.embedding.paused === 0 ? "" : `, ${count(status.data.embedding.paused)} paused after a failed call`}</dd>
                  <dt>Held by this node</dt><dd>{counted(status.data.held.characters, "character", "characters")} of {counted(status.data.held.keys, "caller", "callers")}</dd>
                </>
              )}
            </dl>
            {error === undefined ? null : <p className="small wrap">{error}</p>}
            {status.data?.embedding.active !== true ? <p className="small muted">Words alone decide. Name an embedding model to compare meanings.</p> : (
              <Form className="row" onSubmit={() => reindex.mutate({ body: owner === "" ? {} : { apiKeyId: ownerOf(owner) ?? "" } })}>
                <SelectField label="Embed again the entries of" value={owner} choices={[{ value: "", word: "All" }, nobody, ...choicesOf(keys)]} onChange={setOwner} />
                <Button type="submit" disabled={reindex.isPending}>Embed them again</Button>
              </Form>
            )}
            <Failure what="They are not embedded again" error={reindex.error} />
          </div>
        )}
      </Loaded>
    </Panel>
  )
}
