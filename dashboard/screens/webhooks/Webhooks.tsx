/** Receivers of the gateway's events: whether events arrive, and why not. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Confirm, Once } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { Switch } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Actions, Table } from "../../parts/Table.tsx"
import { isOwned, Owned } from "../../parts/edit/Theirs.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Deliveries } from "./Deliveries.tsx"
import { Form, type Webhook } from "./Form.tsx"
import { Verify } from "./Verify.tsx"

const EVERY_MS = 5_000

const stateOf = ({ enabled, failure_count, last_status }: Webhook) => {
  if (!enabled) return <Status tone={failure_count > 0 ? "bad" : "off"} word={failure_count > 0 ? "Switched off after failures" : "Off"} />
  if (failure_count > 0) return <Status tone="warn" word={`${failure_count} of 10 failures`} />
  return last_status === null ? <Status tone="off" word="Nothing sent yet" /> : <Status tone="ok" word="Arrives" />
}

const Row = ({ onDelete, onDeliveries, onEdit, webhook }: { readonly webhook: Webhook; readonly onEdit: () => void; readonly onDeliveries: () => void; readonly onDelete: () => void }) => {
  const test = useChange("POST /api/webhooks/:id/test", ["GET /api/webhooks", "GET /api/webhooks/:id/deliveries"])
  const change = useChange("PUT /api/webhooks/:id", ["GET /api/webhooks"], undefined, {
    said: ({ webhook: { enabled } }) => enabled ? "The webhook is used." : "The webhook is off.", undo: (_, { body }) => () => call("PUT /api/webhooks/:id", { params: { id: webhook.id }, body: { enabled: body?.enabled !== true } })
  })
  const params = { id: webhook.id }
  const name = webhook.description === null || webhook.description === "" ? webhook.url : webhook.description
  return (
    <tr>
      <td>
        <strong className="wrap">{name}</strong> <Owned record={webhook} />
        <p className="small muted wrap">{webhook.url}</p>
        {test.data === undefined ? null : <p className="small" role="status">{test.data.delivered ? `The test arrived: ${test.data.status}` : `The test did not arrive: ${test.data.error ?? test.data.status}`}</p>}
        {test.error === null && change.error === null ? null : <p className="small" role="alert">{(test.error ?? change.error)?.message}</p>}
      </td>
      <td>{webhook.kind}</td>
      <td className="wrap">{webhook.events.join(", ")}</td>
      <td>{stateOf(webhook)}{webhook.failure_count === 0 ? null : <p className="small muted">{webhook.last_status === null || webhook.last_status === 0 ? "It gave no answer." : `It answered ${webhook.last_status}.`}{webhook.enabled ? "" : " Mend it, then switch it on."}</p>}</td>
      <td><Ago at={webhook.last_triggered_at} /></td>
      <Actions>
        <Button kind="small" disabled={test.isPending} onClick={() => test.mutate({ params })} aria-label={`Test ${name}`}>Test</Button>
        <Button kind="small" onClick={onDeliveries} aria-label={`Deliveries to ${name}`}>Deliveries</Button>
        <IconButton icon="edit" word="Edit" of={name} onClick={onEdit} disabled={isOwned(webhook)} />
        <IconButton icon="trash" word="Delete" of={name} onClick={onDelete} disabled={isOwned(webhook)} />
        <Switch checked={webhook.enabled} label={`${name} is used`} disabled={change.isPending || isOwned(webhook)} onChange={(enabled) => change.mutate({ params, body: { enabled } })} />
      </Actions>
    </tr>
  )
}

type Open = { readonly what: "deliveries" | "delete" | "edit"; readonly webhook: Webhook } | { readonly what: "add" } | { readonly what: "secret"; readonly secret: string } | null

const Webhooks = () => {
  const read = useRead("GET /api/webhooks", {}, { everyMs: EVERY_MS })
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const remove = useChange("DELETE /api/webhooks/:id", ["GET /api/webhooks"], close)
  const add = <Button kind="primary" onClick={() => setOpen({ what: "add" })}><Icon name="plus" size={16} />New webhook</Button>
  return (
    <Page title="Webhooks" lead="The gateway sends events to these receivers, signed, until they arrive. Ten failures in a row switch one off." actions={add}>
      <Panel>
        <Loaded read={read} what="The webhooks">
          {({ webhooks }) => webhooks.length === 0 ? <Empty icon="webhooks" title="No webhook yet" action={add}>Let a chat channel hear of failed requests and used up budgets.</Empty> : (
            <Table label="Webhooks">
              <thead><tr><th scope="col">Receiver</th><th scope="col">Kind</th><th scope="col">Events</th><th scope="col">State</th><th scope="col">Sent</th><th scope="col"><span className="hidden-text">Actions, {count(webhooks.length)} rows</span></th></tr></thead>
              <tbody>{webhooks.map((webhook) => <Row key={webhook.id} webhook={webhook} onEdit={() => setOpen({ what: "edit", webhook })} onDeliveries={() => setOpen({ what: "deliveries", webhook })} onDelete={() => setOpen({ what: "delete", webhook })} />)}</tbody>
            </Table>
          )}
        </Loaded>
      </Panel>
      <details className="panel">
        <summary className="panel-head">How a receiver checks a signature</summary>
        <div className="panel-body"><p className="muted small">Each event carries <code>X-Webhook-Signature</code>: HMAC-SHA256 of its body under the webhook’s key. Chat tools need no check.</p><Verify /></div>
      </details>
      {open?.what === "add" ? <Form webhook={null} onClose={close} onMade={(secret) => setOpen({ what: "secret", secret })} /> : null}
      {open?.what === "edit" ? <Form webhook={open.webhook} onClose={close} onMade={close} /> : null}
      {open?.what === "secret" ? (
        <Once title="The key of its signatures" label="secret" value={open.secret} onClose={close} lead="The receiver checks with it that an event came from this gateway. Lists show only its beginning.">
          <Verify />
        </Once>
      ) : null}
      {open?.what === "deliveries" ? <Deliveries webhook={open.webhook} onClose={close} /> : null}
      {open?.what === "delete" ? (
        <Confirm title="Delete the webhook?" confirm="Delete the webhook" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ params: { id: open.webhook.id } })} failed="The webhook was not deleted" error={remove.error}>
          <p>What waits for {open.webhook.url} and its deliveries are deleted, too.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Webhooks
