/** The gateway that this one follows: how it stands, its bundle taken now, and the beginning and end of following. */
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import * as Notes from "../../api/notes.ts"
import { queryClient, useChange } from "../../api/query.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"

type State = Answer<"GET /api/sync/cloud">

const Begin = ({ status }: { readonly status: State }) => {
  const [url, setUrl] = useState(status.cloudUrl ?? "")
  const [token, setToken] = useState("")
  const enable = useMutation<State, Error>({
    mutationFn: async () => {
      if (url.trim() !== (status.cloudUrl ?? "")) await call("PATCH /api/settings", { body: { cloudUrl: url.trim() } })
      return (await call("POST /api/sync/cloud", { body: { action: "enable", ...(token === "" ? {} : { token }) } })).status
    },
    onSuccess: () => {
      setToken("")
      void Notes.follow(Notes.tell("This gateway follows the other one."))
    },
    // The bundle holds records of every kind.
    onSettled: () => queryClient.invalidateQueries()
  })
  return (
    <Form onSubmit={() => enable.mutate()}>
      <p className="muted wrap">What the other gateway declares becomes read-only here, and goes when it is declared no more. Who governs it decides where new connections lead: follow only gateways of your own.</p>
      <div className="grid-fields">
        <TextField label="Address of the other gateway" value={url} onChange={setUrl} placeholder="https://first.example.com" wrong={wrongWith(enable.error, "cloudUrl")} />
        <TextField label="Its sync token" type="password" value={token} onChange={setToken} hint={status.hasToken ? "Empty keeps the stored one" : "Made on the other gateway; kept sealed here"} wrong={wrongWith(enable.error, "token")} />
      </div>
      <Failure what="This gateway does not follow the other one" error={enable.error} />
      <div className="row"><Button type="submit" kind="primary" disabled={enable.isPending || url.trim() === "" || token === "" && !status.hasToken}>{enable.isPending ? "Taking its bundle" : "Follow it"}</Button></div>
    </Form>
  )
}

export const Follow = ({ status }: { readonly status: State }) => {
  const [isEnding, setEnding] = useState(false)
  const sync = useChange("POST /api/sync/cloud", ["GET /api/sync/cloud", "GET /api/providers", "GET /api/combos", "GET /api/keys", "GET /api/webhooks"], () => setEnding(false), {
    said: ({ action, status: { refused } }) => action === "disable" ? "This gateway follows no other." : refused.length === 0 ? "The bundle is taken." : "The bundle is taken, but for what is listed."
  })
  // What failed is in the status, too.
  const take = (): void => sync.mutate({ body: { action: "sync" } }, { onError: () => void queryClient.invalidateQueries({ queryKey: ["GET /api/sync/cloud"] }) })
  const { cloudUrl, connected, enabled, lastError, lastSync, refused, version } = status
  return (
    <Panel
      title="What this gateway follows" actions={!enabled ? undefined : (
        <div className="row">
          <Button kind="small primary" disabled={sync.isPending} onClick={take}>{sync.isPending ? "Taking it" : "Take its bundle now"}</Button>
          <Button kind="small danger" disabled={sync.isPending} onClick={() => setEnding(true)}>Follow no longer</Button>
        </div>
      )}
    >
      <Failure inPanel what="The bundle was not taken; nothing changed" error={isEnding ? null : sync.error} />
      {enabled ? (
        <div className="panel-body">
          <dl className="pairs">
            <dt>State</dt><dd>{connected ? <Status tone="ok" word="Follows" /> : <Status tone="bad" word="The newest try failed" />}</dd>
            <dt>Other gateway</dt><dd>{cloudUrl ?? "none"}</dd>
            <dt>Taken</dt><dd><Ago at={lastSync} /></dd>
            <dt>Version</dt><dd>{version === null ? "none" : <code>{version}</code>}</dd>
          </dl>
          {lastError === null ? null : <p className="failure wrap">{lastError}</p>}
          <p className="small muted">The gateway asks when it is told to, never by itself: call <code>sync</code> from a timer of the machine.</p>
        </div>
      ) : (
        <>
          {lastError === null ? null : <div className="panel-body"><p className="failure wrap">{lastError}</p></div>}
          <Begin status={status} />
        </>
      )}
      {refused.length === 0 ? null : (
        <Table label="Entries that could not be taken">
          <Head of={["Not taken", "Name", "Why"]} />
          <tbody>{refused.map(({ kind, message, name }) => <tr key={`${kind} ${name}`}><td>{kind}</td><td className="cut" title={name}>{name}</td><td><div className="wrap">{message}</div></td></tr>)}</tbody>
        </Table>
      )}
      {isEnding ? (
        <Confirm title="Follow no longer?" confirm="Follow no longer" pending={sync.isPending} onClose={() => setEnding(false)} onConfirm={() => sync.mutate({ body: { action: "disable" } })} failed="This gateway still follows the other one" error={sync.error}>
          <p>Records stay, and may be changed here again. The token is forgotten.</p>
        </Confirm>
      ) : null}
    </Panel>
  )
}
