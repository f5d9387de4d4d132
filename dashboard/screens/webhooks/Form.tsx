/** Adds a webhook, or changes one; the address is judged while it is typed, and only what was changed is sent. */
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { changedIn } from "../../format/members.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Check, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Status } from "../../parts/Status.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"

export type Webhook = Answer<"GET /api/webhooks">["webhooks"][number]

const kinds = [{ value: "custom", word: "A program of your own" }, { value: "slack", word: "Slack" }, { value: "discord", word: "Discord" }, { value: "telegram", word: "Telegram" }] as const
const events = {
  "request.completed": "A request was answered", "request.failed": "A request failed", "quota.exceeded": "A limit of a key was reached",
  "batch.completed": "A batch is complete", "batch.failed": "A batch failed", "batch.expired": "A batch ran out of time", "batch.cancelled": "A batch was cancelled"
} as const
type EventName = keyof typeof events
const names = Object.keys(events) as ReadonlyArray<EventName>

/** An address is judged when nothing was typed for this time, ms. */
const QUIET_MS = 400

/** What the gateway thinks of an address; nothing is called. */
const useJudged = (url: string) => {
  const [rested, setRested] = useState(url)
  useEffect(() => {
    const timer = setTimeout(() => setRested(url), QUIET_MS)
    return () => clearTimeout(timer)
  }, [url])
  const { data } = useQuery({ queryKey: ["POST /api/webhooks/validate-url", rested], queryFn: ({ signal }) => call("POST /api/webhooks/validate-url", { body: { url: rested }, signal }), enabled: rested.length > 8, retry: false })
  return rested === url ? data : undefined
}

/** Names of another release: they stay as they are. */
const unknownOf = (webhook: Webhook | null): ReadonlyArray<string> => webhook?.events.filter((name) => name !== "*" && !names.some((known) => known === name)) ?? []

const fieldsOf = (webhook: Webhook | null) => ({
  url: webhook?.url ?? "", kind: webhook?.kind ?? "custom" as const, description: webhook?.description ?? "", events: webhook === null ? ["request.failed", "quota.exceeded"] : webhook.events.includes("*") ? names : [...names.filter((name) => webhook.events.includes(name)), ...unknownOf(webhook)]
})

/** `webhook`: null for a new one. */
export const Form = ({ onClose, onMade, webhook }: { readonly webhook: Webhook | null; readonly onClose: () => void; readonly onMade: (secret: string) => void }) => {
  const before = fieldsOf(webhook)
  const [url, setUrl] = useState(before.url)
  const [kind, setKind] = useState<Webhook["kind"]>(before.kind)
  const [botToken, setToken] = useState("")
  const [description, setDescription] = useState(before.description)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(before.events))
  const judged = useJudged(kind === "telegram" ? "" : url)
  const add = useChange("POST /api/webhooks", ["GET /api/webhooks"], (made) => onMade(made.webhook.secret))
  const now = { url, kind, description, events: [...names.filter((name) => chosen.has(name)), ...unknownOf(webhook)] }
  // A metadata that is sent replaces the stored one; what is masked in it stays.
  const metadata = { ...(webhook?.metadata ?? {}) as Readonly<Record<string, string>>, botToken: botToken.trim() }
  const body = { ...changedIn(now, before), ...(botToken === "" ? {} : { metadata }) }
  const update = useChange("PUT /api/webhooks/:id", ["GET /api/webhooks"], onClose, {
    said: "The webhook is changed.",
    // A token that was replaced is gone: then there is no way back.
    undo: () => webhook === null || botToken !== "" ? null : () => call("PUT /api/webhooks/:id", { params: { id: webhook.id }, body: { url: webhook.url, kind: webhook.kind, description: webhook.description, events: webhook.events as ReadonlyArray<EventName | "*"> } })
  })
  // The list masks secrets; the single record carries its own.
  const theirs = useTheirs(async () => {
    const now = (await call("GET /api/webhooks")).webhooks.find(({ id }) => id === webhook?.id)
    return now === undefined ? { ...before } : { ...fieldsOf(now) }
  }, before)
  const error = add.error ?? update.error
  const save = (): void => {
    if (webhook === null) add.mutate({ body: { ...now, ...(botToken === "" ? {} : { metadata }) } })
    else void theirs.save({ ...body, metadata: undefined }, () => update.mutate({ params: { id: webhook.id }, body }))
  }
  return (
    <Dialog title={webhook === null ? "New webhook" : "Change the webhook"} onClose={onClose} onSubmit={save}>
      <SelectField label="Receiver" value={kind} choices={kinds} onChange={setKind} />
      {kind === "telegram" ? (
        <>
          <TextField label="Chat" value={url} onChange={setUrl} required hint="Its id, or @name of a channel" wrong={wrongWith(error, "url")} />
          <TextField label="Token of the bot" type="password" value={botToken} onChange={setToken} hint={webhook === null ? undefined : "Empty keeps the stored one"} wrong={wrongWith(error, "metadata")} />
        </>
      ) : <TextField label="URL" value={url} onChange={setUrl} required placeholder="https://" wrong={wrongWith(error, "url")} />}
      <div aria-live="polite">{judged === undefined ? null : <p className="wrap"><Status tone={judged.valid ? "ok" : "bad"} word={judged.valid ? "The address may be used" : "The address is refused"} />{judged.reason === undefined && judged.warning === undefined ? null : <span className="small"> {judged.reason ?? judged.warning}</span>}</p>}</div>
      <TextField label="Description" value={description} onChange={setDescription} wrong={wrongWith(error, "description")} />
      <fieldset className="stack-tight" style={{ border: 0, padding: 0, margin: 0 }}>
        <legend className="label">When</legend>
        {names.map((name) => (
          <Check
            key={name} checked={chosen.has(name)}
            onChange={(on) => setChosen(new Set([...names.filter((each) => each === name ? on : chosen.has(each)), ...unknownOf(webhook)]))}
          >
            {events[name]} <code className="muted">{name}</code>
          </Check>
        ))}
      </fieldset>
      <Submit failed={webhook === null ? "The webhook was not stored" : "The webhook was not changed"} of={[add, update]} theirs={theirs} isOff={url === "" || chosen.size === 0 || webhook !== null && Object.keys(body).length === 0} onClose={onClose}>{webhook === null ? "Add the webhook" : "Save"}</Submit>
    </Dialog>
  )
}
