/** Makes a key, or changes what one may do; only what was changed is sent. */
import { type ReactNode, useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Loaded } from "../../parts/Feedback.tsx"
import { AreaField, Check, TextField, wrongWith } from "../../parts/Field.tsx"
import { SaveOrCopy, useTheirs } from "../../parts/edit/Theirs.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { useShownProvider } from "../providers/vendors.ts"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"
import { changeOf, dayNames, type Draft, draftOf, inverseOf } from "./draft.ts"
import type { Key } from "./sentence.ts"

export const Make = ({ onClose, onMade }: { readonly onClose: () => void; readonly onMade: (value: string) => void }) => {
  const [name, setName] = useState("")
  const make = useChange("POST /api/keys", ["GET /api/keys"], ({ key }) => onMade(key))
  return (
    <Dialog title="Make a key" onClose={onClose} onSubmit={() => make.mutate({ body: { name } })}>
      <TextField label="Name" value={name} onChange={setName} required autoFocus hint="The program or person that will use it" wrong={wrongWith(make.error, "name")} />
      <Submit failed="No key was made" of={make} isOff={name === ""} onClose={onClose}>Make the key</Submit>
    </Dialog>
  )
}

const Block = ({ children, title }: { readonly title: string; readonly children: ReactNode }) => (
  <fieldset className="stack-tight" style={{ border: 0, padding: 0, margin: 0 }}>
    <legend className="label">{title}</legend>
    {children}
  </fieldset>
)

/** Clients that were seen with the key: a copy that went astray shows here. */
const Devices = ({ id }: { readonly id: string }) => {
  const read = useRead("GET /api/keys/:id/devices", { params: { id } })
  return (
    <Loaded read={read} what="The clients of the key" rows={1}>
      {({ devices }) => devices.length === 0 ? <p className="small muted">None since this node started.</p> : (
        <ul className="stack-tight" aria-label="Clients of the key">{devices.map(({ ip, lastSeenAt, userAgent }) => <li key={`${ip} ${userAgent}`} className="small wrap"><code>{ip}</code> {userAgent} <span className="muted"><Ago at={lastSeenAt} /></span></li>)}</ul>
      )}
    </Loaded>
  )
}

const toggled = <A,>(list: ReadonlyArray<A>, one: A, on: boolean): ReadonlyArray<A> => on ? [...list.filter((each) => each !== one), one] : list.filter((each) => each !== one)

export const Edit = ({ onClose, value }: { readonly value: Key; readonly onClose: () => void }) => {
  const [draft, setDraft] = useState<Draft>(() => draftOf(value))
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const connections = useRead("GET /api/providers")
  const body = changeOf(draft, value)
  const params = { id: value.id }
  const save = useChange("PATCH /api/keys/:id", ["GET /api/keys"], onClose, {
    said: `${value.name} is changed.`, undo: (_, input) => {
      const before = input.body === undefined ? null : inverseOf(input.body, value)
      return before === null ? null : () => call("PATCH /api/keys/:id", { params, body: before })
    }
  })
  const theirs = useTheirs(async () => ({ ...(await call("GET /api/keys/:id", { params })) }), { ...value })
  const shownProvider = useShownProvider()
  const wrong = (field: string): string | undefined => wrongWith(save.error, field)
  const field = fieldsOf(draft, put, save.error)
  return (
    <Dialog title={`Edit ${value.name}`} wide onClose={onClose} onSubmit={() => void theirs.save({ ...body }, () => save.mutate({ params, body }))}>
      <div className="grid-fields">
        <TextField label="Name" {...field("name")} required />
        <TextField label="Expires" type="datetime-local" {...field("expires")} hint="Empty: never" wrong={wrong("expiresAt")} />
      </div>
      <Block title="Models">
        <Check checked={draft.models} onChange={(models) => put({ models })}>Only the models below</Check>
        <div className="grid-fields">
          {draft.models ? <AreaField label="Allowed models" rows={3} {...field("allowedModels")} hint="One per line; * stands for any text, as in openai/*" /> : null}
          {draft.models ? <AreaField label="Allowed combos" rows={3} {...field("allowedCombos")} hint="One per line" /> : null}
          <AreaField label="Blocked models" rows={3} {...field("blockedModels")} hint="One per line; they win over allowed ones" />
        </div>
      </Block>
      <Block title="Connections">
        <Check checked={draft.connections} onChange={(on) => put({ connections: on })}>Only the connections below</Check>
        {draft.connections ? (connections.data?.connections ?? []).map(({ id, name, provider }) => <Check key={id} checked={draft.allowedConnections.includes(id)} onChange={(on) => put({ allowedConnections: toggled(draft.allowedConnections, id, on) })}>{name} <span className="muted">{shownProvider(provider)}</span></Check>) : null}
      </Block>
      <Block title="Rates and money">
        <div className="grid-fields">
          <TextField label="Requests a minute" type="number" {...field("perMinute")} placeholder="no limit" wrong={wrong("maxRequestsPerMinute")} />
          <TextField label="Requests a day" type="number" {...field("perDay")} placeholder="no limit" wrong={wrong("maxRequestsPerDay")} />
          <TextField label="Sessions at once" type="number" {...field("sessions")} placeholder="no limit" wrong={wrong("maxSessions")} />
        </div>
        <Check checked={draft.money} onChange={(money) => put({ money })}>Limits of its own, beside its budget</Check>
        {draft.money ? (
          <div className="grid-fields">
            <TextField label="Its dollars a day" type="number" {...field("usdADay")} placeholder="no limit" wrong={wrong("dailyUsageLimitUsd")} />
            <TextField label="Its dollars a week" type="number" {...field("usdAWeek")} placeholder="no limit" wrong={wrong("weeklyUsageLimitUsd")} />
          </div>
        ) : null}
      </Block>
      <Block title="Hours and places">
        <Check checked={draft.scheduled} onChange={(scheduled) => put({ scheduled })}>Only at some hours</Check>
        {draft.scheduled ? (
          <>
            <div className="grid-fields">
              <TextField label="From" {...field("from")} hint="HH:MM" wrong={wrong("accessSchedule.from")} />
              <TextField label="Until" {...field("until")} hint="HH:MM" wrong={wrong("accessSchedule.until")} />
              <TextField label="Time zone" {...field("zone")} wrong={wrong("accessSchedule.tz")} />
            </div>
            <div className="row">{dayNames.map((day, index) => <Check key={day} checked={draft.days.includes(index)} onChange={(on) => put({ days: toggled(draft.days, index, on) })}>{day}</Check>)}</div>
          </>
        ) : null}
        <AreaField label="Addresses that may use it" rows={2} {...field("addresses")} hint="One per line, as 10.0.0.0/8; empty: all" wrong={wrong("ipAllowlist")} />
      </Block>
      <Block title="Rights and privacy">
        <AreaField label="Scopes" rows={2} {...field("scopes")} hint="One per line, such as manage; empty: it calls models, nothing else" />
        <Check checked={draft.allowUsageCommand} onChange={(allowUsageCommand) => put({ allowUsageCommand })}>Its holder may read its use, as on the page for key holders</Check>
        <Check checked={draft.noLog} onChange={(noLog) => put({ noLog })}>Keep nothing of its prompts and answers</Check>
      </Block>
      <details>
        <summary>Clients that were seen with it</summary>
        <Devices id={value.id} />
      </details>
      <Submit failed="The key was not changed" of={save} theirs={theirs} isSame={Object.keys(body).length === 0} onClose={onClose} around={(button) => <SaveOrCopy owner={value.owner} section="keys" name={value.name} body={body}>{button}</SaveOrCopy>} />
    </Dialog>
  )
}
