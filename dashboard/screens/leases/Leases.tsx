/** Who holds which connection alone, until when; and the sessions of clients. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, duration } from "../../format/numbers.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 2_000

type Lease = Answer<"GET /api/leases">["leases"][number]

const nameOf = ({ connection, connectionId, provider }: Lease): string => `${provider ?? "a provider that is gone"}, ${connection ?? connectionId}`

const Held = () => {
  const read = useRead("GET /api/leases", {}, { everyMs: EVERY_MS })
  const [asked, setAsked] = useState<Lease | null>(null)
  const release = useChange("POST /api/leases/:connectionId/release", ["GET /api/leases"], () => setAsked(null), { said: "The lease is ended.", isRecord: false })
  return (
    <Panel title="Leases">
      <Loaded read={read} what="The leases">
        {({ leases }) => leases.length === 0 ? (
          <Empty icon="leases" title="No connection is held">A key with the scope <code>lease:exclusive</code> takes a connection for itself with <code>POST /api/v1/session-leases</code>, and renews it while it works.</Empty>
        ) : (
          <Table label="Leases">
            <Head of={["Connection", "Provider", "Key", "Holder", ">Generation", "Held since", "Renewed", "Ends in", ""]} />
            <tbody>
              {leases.map((lease) => (
                <tr key={`${lease.connectionId} ${lease.generation}`}>
                  <td className="cut" title={lease.connection ?? lease.connectionId}>{lease.connection ?? lease.connectionId}</td>
                  <td className="cut">{lease.provider ?? "–"}</td>
                  <td className="cut" title={lease.keyId}>{lease.keyName ?? lease.keyId}</td>
                  <td title="First characters of the owner's hash"><Copy value={lease.owner} /></td>
                  <td className="end">{count(lease.generation)}</td>
                  <td><Ago at={lease.acquiredAt} /></td>
                  <td><Ago at={lease.renewedAt} /></td>
                  <td><Countdown until={lease.expiresAt} /></td>
                  <td className="actions"><Button kind="small danger" onClick={() => setAsked(lease)} aria-label={`Release ${nameOf(lease)}`}>Release</Button></td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
      {asked === null ? null : (
        <Confirm
          title="Release the lease?" confirm="Release the lease" pending={release.isPending} onClose={() => setAsked(null)}
          onConfirm={() => release.mutate({ params: { connectionId: asked.connectionId }, body: { generation: asked.generation } })}
          failed="The lease was not ended" error={release.error}
        >
          <p>{nameOf(asked)} is free at once. The holder's next call with generation {asked.generation} is refused; what it runs now goes on. This cannot be taken back: the holder must ask for a lease again.</p>
        </Confirm>
      )}
    </Panel>
  )
}

const Sessions = () => {
  const read = useRead("GET /api/sessions", {}, { everyMs: EVERY_MS })
  return (
    <Panel title="Sessions of the last hour">
      <Loaded read={read} what="The sessions">
        {({ sessions }) => sessions.length === 0 ? <Empty icon="leases" title="No session yet">Clients that send <code>X-Session-Id</code> stay on one connection where that helps the vendor's prompt cache.</Empty> : (
          <Table label="Sessions">
            <Head of={["Session", ">Requests", "Age", "Active", "Connection"]} />
            <tbody>
              {sessions.map((session) => (
                <tr key={session.sessionId}>
                  <td><Copy value={session.sessionId} most={28} /></td><td className="end">{count(session.requestCount)}</td><td className="number nowrap">{duration(session.ageMs)}</td><td><Ago at={session.lastActive} /></td>
                  <td className="cut" title={session.connectionId ?? undefined}>{session.connectionId ?? "–"}</td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
    </Panel>
  )
}

const Leases = () => (
  <Page title="Leases & sessions" lead="A lease gives one holder a connection alone; every call is checked against it before it leaves. A generation never comes twice.">
    <Held />
    <Sessions />
  </Page>
)

export default Leases
