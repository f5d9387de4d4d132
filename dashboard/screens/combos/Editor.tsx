/** Builds a combo: its steps as lanes, its strategy, and beside it what it would do, what it would have done, and what is changed. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useEffect, useId, useState } from "react"
import { call, Problem } from "../../api/call.ts"
import { usePreferences } from "../../api/preferences.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { AreaField, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { SaveOrCopy } from "../../parts/edit/Theirs.tsx"
import { Button } from "../../parts/Button.tsx"
import { bodyOf, type Combo, configIn, configText, differences, draftOf } from "./draft.ts"
import { Lanes } from "./Lanes.tsx"
import { BackTest, DryRun } from "./Proof.tsx"
import { strategies } from "./strategies.ts"
import { begun, templates } from "./templates.ts"

export type { Combo } from "./draft.ts"

/** The router is asked when nothing was changed for this time, ms. */
const QUIET_MS = 300

/** A value once it rests. */
const useRested = (value: string): string => {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), QUIET_MS)
    return () => clearTimeout(timer)
  }, [value])
  return rested
}

export const Editor = ({ combo, onClose }: { readonly combo: Combo | null; readonly onClose: () => void }) => {
  const options = useRead("GET /api/combos/builder/options")
  const others = useRead("GET /api/combos")
  const list = useId()
  /** The stored state that the draft was made from. */
  const [base, setBase] = useState(combo)
  const [draft, setDraft] = useState(() => draftOf(combo))
  const [template, setTemplate] = useState("")
  const isExpert = usePreferences().comboConfigMode === "expert"
  const [config, setConfig] = useState(() => configText(combo))
  const [theirs, setTheirs] = useState<Combo | null>(null)
  const create = useChange("POST /api/combos", ["GET /api/combos"], onClose)
  const update = useChange("PUT /api/combos/:id", ["GET /api/combos"], onClose)
  const error = create.error ?? update.error
  const known = options.data?.strategies ?? []
  const stored = others.data?.combos ?? []
  const names = new Set((options.data?.combos ?? []).map((other) => other.name).filter((other) => other !== combo?.name))
  const models = (options.data?.providers ?? []).flatMap((provider) => provider.models.map((model) => `${provider.id}/${model.id}`))
  // Before the strategies and combos are known, a draft would be saved as something else.
  const plain = options.data === undefined ? null : bodyOf(draft, known, names)
  const given = configIn(config)
  const body = plain === null || !isExpert ? plain : given === null ? null : { ...plain, config: given }
  const declared = body === null ? null : { ...body, name: undefined }
  const asked = body === null ? null : { ...body, ...(base === null ? {} : { id: base.id }) }
  const rested = useRested(JSON.stringify(asked))
  const plan = useQuery({
    queryKey: ["POST /api/combos/explain", rested],
    queryFn: ({ signal }) => call("POST /api/combos/explain", { body: { combo: JSON.parse(rested) as NonNullable<typeof asked> }, signal }),
    enabled: rested !== "null",
    retry: false,
    placeholderData: keepPreviousData
  })
  const save = (ifUpdatedAt: string | undefined): void => {
    if (body === null || base?.owner === "file") return
    if (base === null) {
      create.mutate({ body })
      return
    }
    update.mutate({ params: { id: base.id }, body: { ...body, ...(ifUpdatedAt === undefined ? {} : { ifUpdatedAt }) } }, {
      onError: (refused) => {
        if (!(refused instanceof Problem) || refused.code !== "changed_since") return
        void call("GET /api/combos/:id", { params: { id: base.id } }).then(setTheirs, () => undefined)
      }
    })
  }
  const takeTheirs = (): void => {
    if (theirs === null) return
    setBase(theirs)
    setDraft(draftOf(theirs))
    setConfig(configText(theirs))
    setTheirs(null)
    update.reset()
  }
  return (
    <Dialog title={combo === null ? "New combo" : `Edit ${combo.name}`} wide onClose={onClose} onSubmit={() => save(base?.updatedAt)}>
      <div className="combo-editor">
        <div className="stack">
          {combo === null && !isExpert ? (
            <SelectField
              label="Begin with" value={template} choices={templates} disabled={options.data === undefined} hint="Steps are models of your connections; change them as you like"
              onChange={(value) => {
                setTemplate(value)
                setDraft(begun(draft, value, options.data))
              }}
            />
          ) : null}
          <div className="grid-fields">
            <TextField label="Name" value={draft.name} onChange={(name) => setDraft({ ...draft, name })} required hint="Clients ask for it as a model" wrong={wrongWith(error, "name")} />
            <TextField label="Description" value={draft.description} onChange={(description) => setDraft({ ...draft, description })} wrong={wrongWith(error, "description")} />
          </div>
          <SelectField label="Strategy" value={draft.strategy} choices={(options.data === undefined ? [draft.strategy] : known).map((value) => ({ value, word: value }))} onChange={(strategy) => setDraft({ ...draft, strategy })} hint={strategies[draft.strategy] ?? ""} wrong={wrongWith(error, "strategy")} />
          <Lanes steps={draft.steps} strategy={draft.strategy} list={list} combos={stored.filter(({ id }) => id !== combo?.id)} options={options.data} plan={plan.error === null ? plan.data : undefined} onChange={(steps) => setDraft({ ...draft, steps })} />
          {isExpert ? <AreaField label="Configuration" rows={8} value={config} onChange={setConfig} hint="JSON. What it leaves out is as the provider's settings and the defaults say." wrong={given === null ? "This is no JSON object" : wrongWith(error, "config")} /> : null}
          <datalist id={list}>{[...names, ...models].map((id) => <option key={id} value={id}>{id}</option>)}</datalist>
        </div>
        <div className="stack">
          <DryRun plan={plan} />
          <BackTest body={asked} />
          {base === null ? null : <Changes list={[...differences(draftOf(base), draft), ...configText(base) === config ? [] : [{ what: "configuration", before: configText(base), after: config }]]} />}
        </div>
      </div>
      {theirs === null ? error === null ? null : <Failure what="The combo was not saved" error={error} /> : (
        <div className="failure" role="alert">
          <p><strong>Somebody else changed this combo while you edited it.</strong> Nothing of yours is lost.</p>
          <Changes title="Theirs and yours" before="Theirs" after="Yours" list={differences(draftOf(theirs), draft)} />
          <div className="row">
            <Button kind="small" onClick={takeTheirs}>Take theirs</Button>
            <Button kind="small danger" onClick={() => save(theirs.updatedAt)}>Put mine over it</Button>
          </div>
        </div>
      )}
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <SaveOrCopy owner={base?.owner ?? "database"} section="combos" name={draft.name} body={declared}>
          <Button type="submit" kind="primary" disabled={create.isPending || update.isPending || body === null}>Save</Button>
        </SaveOrCopy>
      </div>
    </Dialog>
  )
}
