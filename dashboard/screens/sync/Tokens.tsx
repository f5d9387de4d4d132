/** Tokens by which other gateways read the declarations of this one: made, shown once, revoked. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { Confirm, Dialog, Once } from "../../parts/Dialog.tsx"
import { Empty } from "../../parts/Feedback.tsx"
import { TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Button } from "../../parts/Button.tsx"

type Token = Answer<"GET /api/sync/tokens">["tokens"][number]

/** Makes one and shows it: its value is nowhere once the window is closed. */
const Make = ({ onClose }: { readonly onClose: () => void }) => {
  const [name, setName] = useState("")
  const make = useChange("POST /api/sync/tokens", ["GET /api/sync/tokens"])
  if (make.data !== undefined) return <Once title="The new sync token" label="token" value={make.data.token} onClose={onClose} />
  return (
    <Dialog title="Make a sync token" onClose={onClose} onSubmit={() => make.mutate({ body: { name: name.trim() } })}>
      <TextField label="Name" value={name} onChange={setName} required autoFocus hint="The gateway that will follow this one" wrong={wrongWith(make.error, "name")} />
      <Submit failed="No token was made" of={make} isOff={name.trim() === ""}>Make the token</Submit>
    </Dialog>
  )
}

export const Tokens = ({ list }: { readonly list: ReadonlyArray<Token> }) => {
  const [isMaking, setMaking] = useState(false)
  const [revoked, setRevoked] = useState<Token | null>(null)
  const revoke = useChange("DELETE /api/sync/tokens/:id", ["GET /api/sync/tokens"], () => setRevoked(null), { said: "The token is revoked.", isRecord: false })
  return (
    <Panel title="Who may follow this gateway" actions={<Button kind="small" onClick={() => setMaking(true)}>Make a sync token</Button>}>
      {list.length === 0 ? <Empty icon="refresh" title="No sync token">Another gateway reads what this one declares with a token of its own, and nothing else.</Empty> : (
        <Table label="Sync tokens">
          <Head of={["Name", "State", "Made", "Used", ""]} />
          <tbody>
            {list.map((token) => (
              <tr key={token.id}>
                <td className="cut" title={token.syncApiKeyId === null ? token.name : `${token.name}, made by a key`}>{token.name}</td>
                <td>{token.revokedAt === null ? <Status tone="ok" word="In use" /> : <><Status tone="off" word="Revoked" /> <span className="small muted"><Ago at={token.revokedAt} /></span></>}</td><td><Ago at={token.createdAt} /></td><td><Ago at={token.lastUsedAt} /></td>
                <td className="actions">{token.revokedAt === null ? <Button kind="small danger" onClick={() => setRevoked(token)} aria-label={`Revoke ${token.name}`}>Revoke</Button> : null}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      {isMaking ? <Make onClose={() => setMaking(false)} /> : null}
      {revoked === null ? null : (
        <Confirm title={`Revoke ${revoked.name}?`} confirm="Revoke the token" pending={revoke.isPending} onClose={() => setRevoked(null)} onConfirm={() => revoke.mutate({ params: { id: revoked.id } })} failed="The token was not revoked" error={revoke.error}>
          <p>The gateway that uses it is refused at once. What it took already stays there.</p>
        </Confirm>
      )}
    </Panel>
  )
}
