/** A server of one's own: adds it, or changes all of it but its type; what the gateway refuses stands at its field. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { pairsOf, pairsText } from "../../format/lines.ts"
import { changedIn } from "../../format/members.ts"
import { Button } from "../../parts/Button.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { SaveOrCopy, useTheirs } from "../../parts/edit/Theirs.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { AreaField, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Status } from "../../parts/Status.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"

export type Node = Answer<"GET /api/provider-nodes">["nodes"][number]
type Change = Body<"PUT /api/provider-nodes/:id">

const types = [{ value: "openai-compatible", word: "The OpenAI format" }, { value: "anthropic-compatible", word: "The Anthropic format" }] as const
const apiTypes = [
  { value: "chat", word: "Chat completions" }, { value: "responses", word: "Responses" }, { value: "embeddings", word: "Embeddings" }, { value: "audio-transcriptions", word: "Transcriptions" },
  { value: "audio-speech", word: "Speech" }, { value: "images-generations", word: "Images" }, { value: "rerank", word: "Rerank" }
] as const

export const touchedByNodes = ["GET /api/providers", "GET /api/provider-nodes", "GET /api/providers/client"] as const

const draftOf = (node: Node | null) => ({
  name: node?.name ?? "", prefix: node?.prefix ?? "", baseUrl: node?.baseUrl ?? "", type: node?.type ?? "openai-compatible", apiType: node?.apiType ?? "chat", apiKey: "",
  chatPath: node?.chatPath ?? "", modelsPath: node?.modelsPath ?? "", headers: pairsText(node?.customHeaders, ": "),
  zone: node?.dailyQuotaResetTimezone ?? "", hour: node?.dailyQuotaResetHour === undefined || node.dailyQuotaResetHour === null ? "" : String(node.dailyQuotaResetHour)
})
type Draft = ReturnType<typeof draftOf>

const given = (text: string): string | null => text.trim() === "" ? null : text.trim()

const bodyOf = ({ apiType, baseUrl, chatPath, headers, hour, modelsPath, name, prefix, type, zone }: Draft) => ({
  name, prefix, baseUrl, ...(type === "openai-compatible" ? { apiType } : {}), chatPath: given(chatPath), modelsPath: given(modelsPath), customHeaders: pairsOf(headers, ":"),
  dailyQuotaResetTimezone: given(zone), dailyQuotaResetHour: hour === "" ? null : Number(hour)
})

/** The members that differ. */
const changeOf = (draft: Draft, node: Node): Change => {
  const before: Readonly<Record<string, unknown>> = bodyOf(draftOf(node))
  return changedIn(bodyOf(draft), before)
}

/** `node`: null for a new one. */
export const NodeForm = ({ node, onDone }: { readonly node: Node | null; readonly onDone: () => void }) => {
  const [draft, setDraft] = useState(() => draftOf(node))
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const body = node === null ? null : changeOf(draft, node)
  const isSame = body !== null && Object.keys(body).length === 0
  const add = useChange("POST /api/provider-nodes", touchedByNodes, onDone)
  const save = useChange("PUT /api/provider-nodes/:id", touchedByNodes, onDone, {
    said: ({ node: { name } }) => `The server ${name} is changed.`,
    undo: () => node === null ? null : () => call("PUT /api/provider-nodes/:id", { params: { id: node.id }, body: bodyOf(draftOf(node)) })
  })
  const ask = useChange("POST /api/provider-nodes/validate", [])
  const theirs = useTheirs(async () => node === null ? {} : { ...(await call("GET /api/provider-nodes/:id", { params: { id: node.id } })).node }, { ...node })
  const error = add.error ?? save.error
  const wrong = (field: string): string | undefined => wrongWith(error, field)
  const { apiType, chatPath, modelsPath, type } = draft
  const field = fieldsOf(draft, put, error)
  return (
    <Form
      className="stack"
      onSubmit={() => {
        if (node === null) add.mutate({ body: { type, ...bodyOf(draft), apiKey: draft.apiKey === "" ? null : draft.apiKey } })
        else if (body !== null) void theirs.save({ ...body }, () => save.mutate({ params: { id: node.id }, body }))
      }}
    >
      <div className="grid-fields">
        <SelectField label="It speaks" value={type} disabled={node !== null} choices={types} onChange={(value) => put({ type: value })} />
        {type === "openai-compatible" ? <SelectField label="With" value={apiType} choices={apiTypes} onChange={(value) => put({ apiType: value })} wrong={wrong("apiType")} /> : null}
      </div>
      <TextField label="Base URL" {...field("baseUrl")} required placeholder="http://127.0.0.1:8000/v1" />
      <div className="grid-fields">
        <TextField label="Name" {...field("name")} required />
        <TextField label="Prefix" {...field("prefix")} required hint={`Its models are called ${draft.prefix === "" ? "prefix" : draft.prefix}/model`} />
      </div>
      {node !== null && draft.prefix !== node.prefix ? <p className="small" role="status">Clients that ask for {node.prefix}/… are refused from then on.</p> : null}
      {node === null ? <TextField label="API key" type="password" {...field("apiKey")} hint="Empty for a server that asks for none" /> : null}
      <details open={node !== null}>
        <summary>Paths, headers and its day</summary>
        <div className="stack" style={{ paddingTop: "1rem" }}>
          <div className="grid-fields">
            <TextField label="Path of calls" value={chatPath} onChange={(value) => put({ chatPath: value })} placeholder="of its format" wrong={wrong("chatPath")} />
            <TextField label="Path of the list of models" value={modelsPath} onChange={(value) => put({ modelsPath: value })} placeholder="/models" wrong={wrong("modelsPath")} />
            <TextField label="Its quotas begin anew at, hour" type="number" {...field("hour")} placeholder="not daily" wrong={wrong("dailyQuotaResetHour")} />
            <TextField label="In the time zone" {...field("zone")} placeholder="UTC" wrong={wrong("dailyQuotaResetTimezone")} />
          </div>
          <AreaField label="Headers of each call" rows={2} {...field("headers")} hint="Name: value, one a line. [redacted] keeps the stored value" wrong={wrong("customHeaders")} />
        </div>
      </details>
      <div aria-live="polite">{ask.data === undefined ? null : <Status tone={ask.data.valid ? "ok" : "bad"} word={ask.data.valid ? "It answers" : ask.data.error ?? "It does not answer"} />}</div>
      <Failure what="The server was not asked" error={ask.error} />
      <Submit
        failed={node === null ? "The server was not stored" : "The server was not changed"} of={[add, save]} theirs={theirs} isSame={isSame}
        extra={(
          <Button disabled={ask.isPending || draft.baseUrl === ""} onClick={() => ask.mutate({ body: { baseUrl: draft.baseUrl, type, ...(type === "openai-compatible" ? { apiType } : {}), ...(draft.apiKey === "" ? {} : { apiKey: draft.apiKey }), chatPath: given(chatPath), modelsPath: given(modelsPath) } })}>
            {ask.isPending ? "Asking" : "Ask it"}
          </Button>
        )}
        around={(button) => <SaveOrCopy owner={node?.owner ?? "database"} section="nodes" name={draft.prefix} body={body}>{button}</SaveOrCopy>}
      >
        {node === null ? "Add the server" : "Save"}
      </Submit>
    </Form>
  )
}
