/** Addresses that may not sign in after wrong passwords, and keys that are banned; both can be let in again. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Rows } from "../../parts/Rows.tsx"
import { Countdown } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 10_000

type Lock = Answer<"GET /api/policies">["lockedIdentifiers"][number]

export const Locks = () => {
  const read = useRead("GET /api/policies", {}, { everyMs: EVERY_MS })
  const [asked, setAsked] = useState<Lock | null>(null)
  const unlock = useChange("POST /api/policies", ["GET /api/policies"], () => setAsked(null), { said: ({ identifier }) => `${identifier} is let in again.`, isRecord: false })
  return (
    <Panel title="Locked out" actions={read.data === undefined ? null : <span className="small muted number">{count(read.data.lockedIdentifiers.length)}</span>}>
      <Loaded read={read} what="Who is locked out" rows={2}>
        {({ lockedIdentifiers }) => lockedIdentifiers.length === 0 ? <Empty icon="addresses" title="Nobody is locked out">Five wrong passwords within 15 minutes lock an address.</Empty> : (
          <Rows label="Locked out" rows={lockedIdentifiers} head={["Who", "Why", "Ends in", ""]}>
            {(lock, index) => {
              const name = lock.name ?? lock.identifier
              return (
                <tr key={`${lock.kind} ${lock.identifier}`} aria-rowindex={index + 2}>
                  <td className="cut" title={lock.identifier}>{name}</td><td>{lock.kind === "key" ? "The key is banned" : "Wrong passwords"}</td><td>{lock.lockedUntil === null ? "when it is let in" : <Countdown until={lock.lockedUntil} />}</td>
                  <td className="actions"><Button kind="small" onClick={() => setAsked(lock)} aria-label={`Let ${name} in`}>Let in</Button></td>
                </tr>
              )
            }}
          </Rows>
        )}
      </Loaded>
      {asked === null ? null : (
        <Confirm title={`Let ${asked.name ?? asked.identifier} in again?`} confirm="Let in" pending={unlock.isPending} onClose={() => setAsked(null)} onConfirm={() => unlock.mutate({ body: { action: "unlock", identifier: asked.identifier } })} failed="It stays locked out" error={unlock.error}>
          <p>{asked.kind === "key" ? "The ban of the key ends: its programs may call again." : "The address may try passwords again at once."}</p>
        </Confirm>
      )}
    </Panel>
  )
}
