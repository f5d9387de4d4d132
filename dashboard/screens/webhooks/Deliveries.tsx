/** What was sent to a receiver and what it answered; each can be sent again. */
import { useChange, useRead } from "../../api/query.ts"
import { duration } from "../../format/numbers.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import type { Webhook } from "./Form.tsx"

const EVERY_MS = 5_000

export const Deliveries = ({ onClose, webhook }: { readonly webhook: Webhook; readonly onClose: () => void }) => {
  const read = useRead("GET /api/webhooks/:id/deliveries", { params: { id: webhook.id } }, { everyMs: EVERY_MS })
  const replay = useChange("POST /api/webhooks/:id/deliveries/:deliveryId/replay", ["GET /api/webhooks", "GET /api/webhooks/:id/deliveries"])
  return (
    <Dialog title="Deliveries" wide onClose={onClose}>
      <p className="muted wrap">The newest 50 to {webhook.url}. Sent again, an event keeps its id: receivers can tell that they know it.</p>
      {webhook.enabled ? null : <p className="small">The webhook is off: switch it on to send a delivery again.</p>}
      {replay.data === undefined ? null : <p className="small" role="status">{replay.data.delivered ? `It arrived: ${replay.data.status}` : `It did not arrive: ${replay.data.error ?? replay.data.status}`}</p>}
      <Failure what="It was not sent again" error={replay.error} />
      <Loaded read={read} what="The deliveries">
        {({ deliveries }) => deliveries.length === 0 ? <Empty icon="webhooks" title="Nothing was sent yet" /> : (
          <Table label="Deliveries">
            <Head of={["When", "Event", "Outcome", ">Took", "Sent", ""]} />
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
