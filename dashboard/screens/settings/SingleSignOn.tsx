/** Signing in at the operator's own issuer: who it is, and whom it lets in. The client's secret is written, and never read back. */
import { Link } from "@tanstack/react-router"
import { gatewayAddress, urlOf } from "../../app/place.ts"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { changedIn } from "../../format/members.ts"
import { Changes, type Difference } from "../../parts/edit/Changes.tsx"
import { CodeBlock } from "../../parts/Copy.tsx"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { AreaField, Check, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Theirs, useTheirs } from "../../parts/edit/Theirs.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"

type Settings = Answer<"GET /api/settings">
type Change = Body<"PATCH /api/settings">

interface Draft {
  readonly enabled: boolean
  readonly issuer: string
  readonly clientId: string
  /** Empty: what is stored stays. */
  readonly secret: string
  /** The stored secret goes: the client is a public one. */
  readonly bare: boolean
  /** One a line. */
  readonly subjects: string
}

const text = (value: unknown): string => typeof value === "string" ? value : ""
const list = (value: unknown): ReadonlyArray<string> => Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : []

const draftOf = (settings: Settings): Draft => ({
  enabled: settings["oidcEnabled"] === true, issuer: text(settings["oidcIssuer"]), clientId: text(settings["oidcClientId"]), secret: "", bare: false, subjects: list(settings["oidcAllowedSubjects"]).join("\n")
})

const shownOf = ({ clientId, enabled, issuer, subjects }: Draft) => ({
  oidcEnabled: enabled, oidcIssuer: issuer.trim() === "" ? null : issuer.trim(), oidcClientId: clientId.trim() === "" ? null : clientId.trim(),
  oidcAllowedSubjects: [...new Set(subjects.split("\n").filter((line) => line.trim() !== ""))]
})

const word = (value: unknown): string => value === null || value === "" ? "none" : Array.isArray(value) ? value.length === 0 ? "nobody" : value.join(", ") : typeof value === "boolean" ? value ? "on" : "off" : String(value)

const changeOf = (draft: Draft, settings: Settings): Change => {
  const before: Readonly<Record<string, unknown>> = shownOf(draftOf(settings))
  return {
    ...changedIn(shownOf(draft), before),
    ...(draft.bare ? { oidcClientSecret: null } : draft.secret === "" ? {} : { oidcClientSecret: draft.secret })
  }
}

const differencesOf = (change: Change, settings: Settings): ReadonlyArray<Difference> => {
  const before: Readonly<Record<string, unknown>> = shownOf(draftOf(settings))
  return Object.entries(change).map(([what, after]) => what === "oidcClientSecret"
    ? { what, before: settings["oidcClientSecretSet"] === true ? "stored" : "none", after: after === null ? "none" : "a new one" }
    : { what, before: word(before[what]), after: word(after) })
}

const Fields = ({ settings }: { readonly settings: Settings }) => {
  const [draft, setDraft] = useDraft(settings, draftOf)
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const change = changeOf(draft, settings)
  const differences = differencesOf(change, settings)
  const save = useChange("PATCH /api/settings", ["GET /api/settings", "GET /api/auth/status"], (answer) => setDraft(draftOf(answer)), {
    said: "Single sign-on is changed.",
    // A secret that was replaced is gone: then there is no way back.
    undo: (_, { body }) => body === undefined || "oidcClientSecret" in body ? null : () => call("PATCH /api/settings", { body: Object.fromEntries(Object.entries(shownOf(draftOf(settings))).filter(([name]) => name in body)) })
  })
  const theirs = useTheirs(async () => shownOf(draftOf(await call("GET /api/settings"))), shownOf(draftOf(settings)))
  const stored = settings["oidcClientSecretSet"] === true
  const wrong = (field: string): string | undefined => wrongWith(save.error, field)
  const after = shownOf(draft)
  const ends = settings["oidcEnabled"] === true && (!after.oidcEnabled || "oidcIssuer" in change || list(settings["oidcAllowedSubjects"]).some((subject) => !after.oidcAllowedSubjects.includes(subject)))
  const field = fieldsOf(draft, put, save.error)
  return (
    <Form onSubmit={() => {
      const { oidcClientSecret: _secret, ...shown } = change
      void theirs.save(shown, () => save.mutate({ body: change }))
    }}>
      <p className="small muted wrap">Register a web client with the issuer, with this redirect address if people reach the gateway as this page does; else it begins with GATEWAY_PUBLIC_URL.</p>
      <CodeBlock label="redirect address" text={`${gatewayAddress}/api/auth/oidc/callback`} />
      <Check checked={draft.enabled} onChange={(enabled) => put({ enabled })}>Offer single sign-on</Check>
      <div className="grid-fields">
        <TextField label="Issuer" {...field("issuer")} placeholder="https://login.example.com/realms/main" hint="To the letter as its tokens name it" wrong={wrong("oidcIssuer")} />
        <TextField label="Client id" {...field("clientId")} wrong={wrong("oidcClientId")} />
        {draft.bare ? null : <TextField label="Client secret" type="password" {...field("secret")} hint={stored ? "Empty keeps the stored one" : "Empty: a public client"} wrong={wrong("oidcClientSecret")} />}
      </div>
      {stored ? <Check checked={draft.bare} onChange={(bare) => put({ bare, secret: "" })}>Remove the stored secret</Check> : null}
      <AreaField
        label="Who may sign in" rows={3} value={draft.subjects} onChange={(subjects) => put({ subjects })} wrong={wrong("oidcAllowedSubjects")}
        hint="Subjects of the issuer, one per line; empty: nobody. A person who is not in the list is told the own subject at the sign-in. Each may do all that the password may."
      />
      {differences.length === 0 ? null : <Changes list={differences} />}
      {ends && differences.length > 0 ? <p className="small">Sessions of people who are concerned end at once, on every node.</p> : null}
      <Theirs clashes={theirs.clashes} />
      <Failure what="Single sign-on was not changed" error={save.error} />
      <div className="row">
        <Button type="submit" disabled={save.isPending || theirs.isBusy || differences.length === 0} aria-label={theirs.clashes.length > 0 ? undefined : "Save single sign-on"}>{theirs.clashes.length > 0 ? "Save mine" : "Save"}</Button>
        {settings["oidcEnabled"] === true && differences.length === 0 ? <a className="button" href={urlOf("/api/auth/oidc/login?returnTo=%2Fdashboard%2Fsettings").href}>Try to sign in by it</a> : null}
      </div>
      <p className="small muted wrap">Once it has worked, the flag <Link to="/settings" search={{ search: "GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN" }}>GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN</Link> can take the password away.</p>
    </Form>
  )
}

export const SingleSignOn = () => {
  const read = useRead("GET /api/settings")
  return <Panel id="sign-on" title="Single sign-on"><Loaded read={read} what="The settings of single sign-on" rows={6}>{(settings) => <Fields settings={settings} />}</Loaded></Panel>
}
