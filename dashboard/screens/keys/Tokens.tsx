/** Credentials of command lines elsewhere: who may manage the gateway with one, until when, and the way to end it. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Button } from "../../parts/Button.tsx"

type Token = Answer<"GET /api/cli/tokens">["tokens"][number]

const scopes = [{ value: "read", word: "Read" }, { value: "write", word: "Read and change" }, { value: "admin", word: "Everything, keys and passwords too" }] as const
const DAYS = "30"

const Make = ({ onClose, onMade }: { readonly onClose: () => void; readonly onMade: (token: string) => void }) => {
  const [name, setName] = useState("")
  const [scope, setScope] = useState<typeof scopes[number]["value"]>("read")
  const [days, setDays] = useState(DAYS)
  const make = useChange("POST /api/cli/tokens", ["GET /api/cli/tokens"], ({ token }) => onMade(token))
  return (
    <Dialog title="Make an access token" onClose={onClose} onSubmit={() => make.mutate({ body: { name, scope, ...(days === "" ? {} : { expiresInDays: Number(days) }) } })}>
      <TextField label="Name" value={name} onChange={setName} required autoFocus hint="The machine that will use it" wrong={wrongWith(make.error, "name")} />
      <SelectField label="May" value={scope} choices={scopes} onChange={setScope} />
      <TextField label="Days" type="number" value={days} onChange={setDays} hint="Empty: it does not end" wrong={wrongWith(make.error, "expiresInDays")} />
      <Submit failed="No token was made" of={make} isOff={name === ""}>Make the token</Submit>
    </Dialog>
  )
}

export const Tokens = ({ onMade }: { readonly onMade: (token: string) => void }) => {
  const read = useRead("GET /api/cli/tokens")
  const [isMaking, setMaking] = useState(false)
  const [revoked, setRevoked] = useState<Token | null>(null)
  const revoke = useChange("DELETE /api/cli/tokens/:id", ["GET /api/cli/tokens"], () => setRevoked(null), { said: "The token is revoked.", isRecord: false })
  return (
    <Panel title="Access tokens" actions={<Button kind="small" onClick={() => setMaking(true)}>Make an access token</Button>}>
      <Loaded read={read} what="The access tokens" rows={1}>
        {({ tokens }) => tokens.length === 0 ? <Empty icon="keys" title="No access token">A command line on another machine manages the gateway with one: <code>gateway usage --url https://… --token …</code>.</Empty> : (
          <Table label="Access tokens">
            <Head of={["Name", "Begins with", "May", "Used", "Ends in", ""]} />
            <tbody>
              {tokens.map((token) => (
                <tr key={token.id}>
                  <td className="cut" title={token.name}>{token.name}</td><td className="mono nowrap">{token.tokenPrefix}</td><td>{token.scope}</td><td><Ago at={token.lastUsedAt} /></td><td>{token.expiresAt === null ? "never" : <Countdown until={token.expiresAt} />}</td>
                  <td className="actions"><Button kind="small danger" onClick={() => setRevoked(token)} aria-label={`Revoke ${token.name}`}>Revoke</Button></td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
      {isMaking ? (
        <Make
          onClose={() => setMaking(false)}
          onMade={(token) => {
            setMaking(false)
            onMade(token)
          }}
        />
      ) : null}
      {revoked === null ? null : (
        <Confirm title={`Revoke ${revoked.name}?`} confirm="Revoke the token" pending={revoke.isPending} onClose={() => setRevoked(null)} onConfirm={() => revoke.mutate({ params: { id: revoked.id } })} failed="The token was not revoked" error={revoke.error}>
          <p>Command lines that use it are refused at once.</p>
        </Confirm>
      )}
    </Panel>
  )
}
