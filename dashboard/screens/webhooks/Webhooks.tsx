/** Receivers of the gateway's events: whether events arrive, and why not. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, duration } from "../../format/numbers.ts"
import { CodeBlock } from "../../parts/Copy.tsx"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { Check, SelectField, Switch, TextField, wrongWith } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"

const EVERY_MS = 5_000

type Webhook = Answer<"GET /api/webhooks">["webhooks"][number]

const kinds = [{ value: "custom", word: "A program of your own" }, { value: "slack", word: "Slack" }, { value: "discord", word: "Discord" }]
const events = {
  "request.completed": "A request was answered", "request.failed": "A request failed", "quota.exceeded": "A limit of a key was reached",
  "batch.completed": "A batch is complete", "batch.failed": "A batch failed", "batch.expired": "A batch ran out of time", "batch.cancelled": "A batch was cancelled"
} as const
type EventName = keyof typeof events

const stateOf = ({ enabled, failure_count, last_status }: Webhook) => {
  if (!enabled) return <Status tone={failure_count > 0 ? "bad" : "off"} word={failure_count > 0 ? "Switched off after failures" : "Off"} />
  if (failure_count > 0) return <Status tone="warn" word={`${failure_count} of 10 failures`} />
  return last_status === null ? <Status tone="off" word="Nothing sent yet" /> : <Status tone="ok" word="Arrives" />
}

const Add = ({ onClose, onMade }: { readonly onClose: () => void; readonly onMade: (secret: string) => void }) => {
  const [url, setUrl] = useState("")
  const [kind, setKind] = useState("custom")
  const [description, setDescription] = useState("")
  const [chosen, setChosen] = useState<ReadonlySet<EventName>>(new Set<EventName>(["request.failed", "quota.exceeded"]))
  const add = useChange("POST /api/webhooks", ["GET /api/webhooks"], ({ webhook }) => onMade(webhook.secret))
  const names = (Object.keys(events) as ReadonlyArray<EventName>)
  const save = (): void => add.mutate({
    body: { url, description, kind: kind === "slack" || kind === "discord" ? kind : "custom", events: names.filter((name) => chosen.has(name)) }
  })
  return (
    <Dialog title="New webhook" onClose={onClose} onSubmit={save}>
      <SelectField label="Receiver" value={kind} choices={kinds} onChange={setKind} />
      <TextField label="URL" value={url} onChange={setUrl} required placeholder="https://" wrong={wrongWith(add.error, "url")} />
      <TextField label="Description" value={description} onChange={setDescription} wrong={wrongWith(add.error, "description")} />
      <fieldset className="stack-tight" style={{ border: 0, padding: 0, margin: 0 }}>
        <legend className="label">When</legend>
        {names.map((name) => (
          <Check
            key={name} checked={chosen.has(name)}
            onChange={(on) => setChosen(new Set(names.filter((each) => each === name ? on : chosen.has(each))))}
          >
            {events[name]} <code className="muted">{name}</code>
          </Check>
        ))}
      </fieldset>
      {add.error === null ? null : <Failure what="The webhook was not stored" error={add.error} />}
      <div className="dialog-foot"><button type="button" className="button" onClick={onClose}>Cancel</button><button type="submit" className="button button-primary" disabled={add.isPending || url === "" || chosen.size === 0}>Add the webhook</button></div>
    </Dialog>
  )
}

const Deliveries = ({ onClose, webhook }: { readonly webhook: Webhook; readonly onClose: () => void }) => {
  const read = useRead("GET /api/webhooks/:id/deliveries", { params: { id: webhook.id } }, { everyMs: EVERY_MS })
  const replay = useChange("POST /api/webhooks/:id/deliveries/:deliveryId/replay", ["GET /api/webhooks", "GET /api/webhooks/:id/deliveries"])
  return (
    <Dialog title="Deliveries" wide onClose={onClose}>
      <p className="muted wrap">The newest 50 to {webhook.url}. Sent again, an event keeps its id: receivers can tell that they know it.</p>
      {webhook.enabled ? null : <p className="small">The webhook is off: switch it on to send a delivery again.</p>}
      {replay.data === undefined ? null : <p className="small" role="status">{replay.data.delivered ? `It arrived: ${replay.data.status}` : `It did not arrive: ${replay.data.error ?? replay.data.status}`}</p>}
      {replay.error === null ? null : <Failure what="It was not sent again" error={replay.error} />}
      <Loaded read={read} what="The deliveries">
        {({ deliveries }) => deliveries.length === 0 ? <Empty icon="webhooks" title="Nothing was sent yet" /> : (
          <Table label="Deliveries">
            <thead><tr><th scope="col">When</th><th scope="col">Event</th><th scope="col">Outcome</th><th scope="col" className="end">Took</th><th scope="col">Sent</th><th scope="col"><span className="hidden-text">Actions</span></th></tr></thead>
            <tbody>
              {deliveries.map((delivery) => (
                <tr key={delivery.id}>
                  <td><Ago at={delivery.createdAt} /></td>
                  <td className="nowrap">{delivery.eventType}</td>
                  <td className="wrap"><Status tone={delivery.status === "success" ? "ok" : "bad"} word={String(delivery.httpStatus ?? "no answer")} />{delivery.error === null ? null : <p className="small muted">{delivery.error}</p>}</td>
                  <td className="end">{duration(delivery.latencyMs)}</td>
                  <td>{delivery.payloadSnapshot === null ? "–" : <details><summary>Body</summary><pre className="well small">{delivery.payloadSnapshot}</pre></details>}</td>
                  <td className="actions">
                    {delivery.payloadSnapshot === null ? null : (
                      <button
                        type="button" className="button button-small" disabled={!webhook.enabled || replay.isPending}
                        onClick={() => replay.mutate({ params: { id: webhook.id, deliveryId: delivery.id } })} aria-label={`Send ${delivery.eventType} again`}
                      >Send again</button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
    </Dialog>
  )
}

const Row = ({ onDelete, onDeliveries, webhook }: { readonly webhook: Webhook; readonly onDeliveries: () => void; readonly onDelete: () => void }) => {
  const test = useChange("POST /api/webhooks/:id/test", ["GET /api/webhooks", "GET /api/webhooks/:id/deliveries"])
  const change = useChange("PUT /api/webhooks/:id", ["GET /api/webhooks"], undefined, {
    said: ({ webhook: { enabled } }) => enabled ? "The webhook is used." : "The webhook is off.", undo: (_, { body }) => () => call("PUT /api/webhooks/:id", { params: { id: webhook.id }, body: { enabled: body?.enabled !== true } })
  })
  const params = { id: webhook.id }
  const name = webhook.description === null || webhook.description === "" ? webhook.url : webhook.description
  return (
    <tr>
      <td>
        <strong className="wrap">{name}</strong>
        <p className="small muted wrap">{webhook.url}</p>
        {test.data === undefined ? null : <p className="small" role="status">{test.data.delivered ? `The test arrived: ${test.data.status}` : `The test did not arrive: ${test.data.error ?? test.data.status}`}</p>}
        {test.error === null && change.error === null ? null : <p className="small" role="alert">{(test.error ?? change.error)?.message}</p>}
      </td>
      <td>{webhook.kind}</td>
      <td className="wrap">{webhook.events.join(", ")}</td>
      <td>{stateOf(webhook)}</td>
      <td><Ago at={webhook.last_triggered_at} /></td>
      <td className="actions">
        <div className="row">
          <button type="button" className="button button-small" disabled={test.isPending} onClick={() => test.mutate({ params })} aria-label={`Test ${name}`}>Test</button>
          <button type="button" className="button button-small" onClick={onDeliveries} aria-label={`Deliveries to ${name}`}>Deliveries</button>
          <button type="button" className="button button-small button-quiet button-icon" onClick={onDelete} aria-label={`Delete ${name}`} title="Delete"><Icon name="trash" size={16} /></button>
          <Switch checked={webhook.enabled} label={`${name} is used`} disabled={change.isPending} onChange={(enabled) => change.mutate({ params, body: { enabled } })} />
        </div>
      </td>
    </tr>
  )
}

type Open = { readonly what: "deliveries" | "delete"; readonly webhook: Webhook } | { readonly what: "add" } | { readonly what: "secret"; readonly secret: string } | null

const Webhooks = () => {
  const read = useRead("GET /api/webhooks", {}, { everyMs: EVERY_MS })
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const remove = useChange("DELETE /api/webhooks/:id", ["GET /api/webhooks"], close)
  const add = <button type="button" className="button button-primary" onClick={() => setOpen({ what: "add" })}><Icon name="plus" size={16} />New webhook</button>
  return (
    <Page title="Webhooks" lead="The gateway sends events to these receivers, signed, until they arrive. Ten failures in a row switch one off." actions={add}>
      <Panel>
        <Loaded read={read} what="The webhooks">
          {({ webhooks }) => webhooks.length === 0 ? <Empty icon="webhooks" title="No webhook yet" action={add}>Let a chat channel hear of failed requests and used up budgets.</Empty> : (
            <Table label="Webhooks">
              <thead><tr><th scope="col">Receiver</th><th scope="col">Kind</th><th scope="col">Events</th><th scope="col">State</th><th scope="col">Sent</th><th scope="col"><span className="hidden-text">Actions, {count(webhooks.length)} rows</span></th></tr></thead>
              <tbody>{webhooks.map((webhook) => <Row key={webhook.id} webhook={webhook} onDeliveries={() => setOpen({ what: "deliveries", webhook })} onDelete={() => setOpen({ what: "delete", webhook })} />)}</tbody>
            </Table>
          )}
        </Loaded>
      </Panel>
      {open?.what === "add" ? <Add onClose={close} onMade={(secret) => setOpen({ what: "secret", secret })} /> : null}
      {open?.what === "secret" ? (
        <Dialog title="The key of its signatures" stays onClose={close}>
          <p>The receiver checks with it that an event came from this gateway. Lists show only its beginning.</p>
          <CodeBlock label="secret" text={open.secret} />
          <div className="dialog-foot"><button type="button" className="button button-primary" onClick={close}>I have copied it</button></div>
        </Dialog>
      ) : null}
      {open?.what === "deliveries" ? <Deliveries webhook={open.webhook} onClose={close} /> : null}
      {open?.what === "delete" ? (
        <Confirm title="Delete the webhook?" confirm="Delete the webhook" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ params: { id: open.webhook.id } })} error={remove.error === null ? undefined : <Failure what="The webhook was not deleted" error={remove.error} />}>
          <p>What waits for {open.webhook.url} and its deliveries are deleted, too.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Webhooks
