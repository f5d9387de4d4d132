/** How prompts are made shorter: modes, their order of choice, and the engines; what a save would change stands below. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { AreaField, Check, choicesOf, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"
import { changeOf, differencesOf, type Draft, draftOf, engines, inverseOf, intensities, languages, modeOf, modes, plainEngines, roles, rtkIntensities, type Settings, type Step } from "./draft.ts"
import { groups, isJson, ofOutputs, ofPrompts } from "./fieldTable.ts"
import { More } from "./More.tsx"

const toggled = <A,>(list: ReadonlyArray<A>, one: A, on: boolean): ReadonlyArray<A> => on ? [...list.filter((each) => each !== one), one] : list.filter((each) => each !== one)

interface Part {
  readonly draft: Draft
  readonly put: (part: Partial<Draft>) => void
  readonly wrong: (field: string) => string | undefined
}

const MOST_STEPS = 10

const stepOf = (engine: string): Step => engine === "rtk" || engine === "caveman" ? { engine } : { engine: plainEngines.find((each) => each === engine) ?? "lite" }

/** Null for an engine that has none. */
const intensityOf = (step: Step): string | null => step.engine === "rtk" ? step.intensity ?? "standard" : step.engine === "caveman" ? step.intensity ?? "full" : null

/** What else the step says stays. */
const withIntensity = (step: Step, intensity: string): Step => {
  if (step.engine === "rtk") return { ...step, intensity: rtkIntensities.find((each) => each === intensity) ?? "standard" }
  return step.engine === "caveman" ? { ...step, intensity: intensities.find((each) => each === intensity) ?? "full" } : step
}

const Pipeline = ({ draft, put }: Part) => {
  const steps = draft.stackedPipeline
  const set = (index: number, step: Step | null): void => put({ stackedPipeline: steps.flatMap((each, at) => at === index ? step === null ? [] : [step] : [each]) })
  return (
    <fieldset className="stack-tight" style={{ border: 0, padding: 0, margin: 0 }}>
      <legend className="label">Engines of the stacked mode, in their order</legend>
      {steps.map((step, index) => {
        const intensity = intensityOf(step)
        return (
          <div key={index} className="row">
            <SelectField label={`Engine ${index + 1}`} value={step.engine} choices={engines} onChange={(engine) => set(index, stepOf(engine))} />
            {intensity === null ? null : <SelectField label={`Intensity of engine ${index + 1}`} value={intensity} choices={step.engine === "rtk" ? rtkIntensities : intensities} onChange={(value) => set(index, withIntensity(step, value))} />}
            <Button kind="small" disabled={steps.length === 1} onClick={() => set(index, null)} aria-label={`Remove engine ${index + 1}`}>Remove</Button>
          </div>
        )
      })}
      <div className="row"><Button kind="small" disabled={steps.length >= MOST_STEPS} onClick={() => put({ stackedPipeline: [...steps, { engine: "lite" }] })}>Add an engine</Button></div>
    </fieldset>
  )
}

/** Modes of combos; one of a combo that is gone can be removed. */
const OfCombos = ({ draft, put }: Part) => {
  const combos = useRead("GET /api/combos").data?.combos ?? []
  const [chosen, setChosen] = useState("")
  const set = (id: string, mode: string | null): void => put({ comboOverrides: Object.fromEntries([...Object.entries(draft.comboOverrides).filter(([each]) => each !== id), ...(mode === null ? [] : [[id, modeOf(mode)] as const])]) })
  const free = combos.filter(({ id }) => !Object.hasOwn(draft.comboOverrides, id))
  const next = free.find(({ id }) => id === chosen)?.id ?? free[0]?.id
  return (
    <fieldset className="stack-tight" style={{ border: 0, padding: 0, margin: 0 }}>
      <legend className="label">Combos with a mode of their own</legend>
      {Object.entries(draft.comboOverrides).map(([id, mode]) => {
        const name = combos.find((combo) => combo.id === id)?.name ?? id
        return (
          <div key={id} className="row">
            <SelectField label={`Mode of ${name}`} value={mode} choices={modes} onChange={(value) => set(id, value)} />
            <Button kind="small" onClick={() => set(id, null)} aria-label={`Remove the mode of ${name}`}>Remove</Button>
          </div>
        )
      })}
      {next === undefined ? <p className="small muted">{combos.length === 0 ? "There is no combo." : "Each combo has one."}</p> : (
        <div className="row">
          <SelectField label="Combo" value={next} choices={choicesOf(free)} onChange={setChosen} />
          <Button kind="small" onClick={() => set(next, draft.defaultMode)}>Give it a mode</Button>
        </div>
      )}
    </fieldset>
  )
}

const Caveman = ({ draft: { caveman, languageConfig }, put, wrong }: Part) => {
  const set = (part: Partial<Draft["caveman"]>): void => put({ caveman: { ...caveman, ...part } })
  const speak = (part: Partial<Draft["languageConfig"]>): void => put({ languageConfig: { ...languageConfig, ...part } })
  return (
    <details>
      <summary>Rules of prose (caveman)</summary>
      <div className="stack">
        <Check checked={caveman.enabled} onChange={(enabled) => set({ enabled })}>The engine may be used</Check>
        <div className="grid-fields">
          <SelectField label="Intensity of rules" value={caveman.intensity} choices={intensities} onChange={(intensity) => set({ intensity })} />
          <TextField label="Shorter texts stay, characters" type="number" value={caveman.minMessageLength} onChange={(minMessageLength) => set({ minMessageLength })} wrong={wrong("cavemanConfig.minMessageLength")} />
          <AreaField label="Rules that are left out" rows={2} value={caveman.skipRules} onChange={(skipRules) => set({ skipRules })} hint="Names, one per line" wrong={wrong("cavemanConfig.skipRules")} />
          <AreaField label="Lines that stay" rows={2} value={caveman.preservePatterns} onChange={(preservePatterns) => set({ preservePatterns })} hint="Regular expressions, one per line" wrong={wrong("cavemanConfig.preservePatterns")} />
        </div>
        <div className="row"><span className="label">Whose texts</span>{roles.map((role) => <Check key={role} checked={caveman.compressRoles.includes(role)} onChange={(on) => set({ compressRoles: toggled(caveman.compressRoles, role, on) })}>{role}</Check>)}</div>
        <Check checked={languageConfig.enabled} onChange={(enabled) => speak({ enabled })}>Rules of more languages than English</Check>
        {languageConfig.enabled ? (
          <>
            <div className="row"><span className="label">Languages</span>{languages.map((language) => <Check key={language} checked={languageConfig.enabledPacks.includes(language)} onChange={(on) => speak({ enabledPacks: toggled(languageConfig.enabledPacks, language, on) })}>{language}</Check>)}</div>
            <Check checked={languageConfig.autoDetect} onChange={(autoDetect) => speak({ autoDetect })}>Find out the language of each text</Check>
            <SelectField label="Language of all others" value={languageConfig.defaultLanguage} choices={languages} onChange={(defaultLanguage) => speak({ defaultLanguage })} />
          </>
        ) : null}
      </div>
    </details>
  )
}

const Rtk = ({ draft: { more, rtk }, put, wrong }: Part) => {
  const set = (part: Partial<Draft["rtk"]>): void => put({ rtk: { ...rtk, ...part } })
  return (
    <details>
      <summary>Filters of commands (rtk)</summary>
      <div className="stack">
        <Check checked={rtk.enabled} onChange={(enabled) => set({ enabled })}>The engine may be used</Check>
        <Check checked={rtk.applyToToolResults} onChange={(applyToToolResults) => set({ applyToToolResults })}>For results of tools</Check>
        <div className="grid-fields">
          <SelectField label="Intensity of filters" value={rtk.intensity} choices={rtkIntensities} onChange={(intensity) => set({ intensity })} />
          <TextField label="Most lines of an output" type="number" value={rtk.maxLinesPerResult} onChange={(maxLinesPerResult) => set({ maxLinesPerResult })} wrong={wrong("rtkConfig.maxLinesPerResult")} />
          <TextField label="Most characters of an output" type="number" value={rtk.maxCharsPerResult} onChange={(maxCharsPerResult) => set({ maxCharsPerResult })} wrong={wrong("rtkConfig.maxCharsPerResult")} />
          <TextField label="Equal lines become one from" type="number" value={rtk.deduplicateThreshold} onChange={(deduplicateThreshold) => set({ deduplicateThreshold })} wrong={wrong("rtkConfig.deduplicateThreshold")} />
          <AreaField label="Filters that are used" rows={2} value={rtk.enabledFilters} onChange={(enabledFilters) => set({ enabledFilters })} hint="Ids, one per line; empty: all" wrong={wrong("rtkConfig.enabledFilters")} />
          <AreaField label="Filters that are left out" rows={2} value={rtk.disabledFilters} onChange={(disabledFilters) => set({ disabledFilters })} hint="Ids, one per line" wrong={wrong("rtkConfig.disabledFilters")} />
        </div>
        <More fields={ofOutputs} values={more} put={(values) => put({ more: values })} wrong={wrong} />
      </div>
    </details>
  )
}

/** The draft is the caller's, so that the preview can use it before it is saved. */
export const Fields = ({ draft, onDraft, stored }: { readonly stored: Settings; readonly draft: Draft; readonly onDraft: (draft: Draft) => void }) => {
  const put = (part: Partial<Draft>): void => onDraft({ ...draft, ...part })
  const save = useChange("PUT /api/settings/compression", ["GET /api/settings/compression"], (answer) => onDraft(draftOf(answer)), {
    said: "How prompts are made shorter is changed.",
    undo: (_, { body }) => body === undefined ? null : () => call("PUT /api/settings/compression", { body: inverseOf(body, stored) })
  })
  const theirs = useTheirs(async () => ({ ...(await call("GET /api/settings/compression")) }), { ...stored })
  const change = changeOf(draft, stored)
  const list = differencesOf(draft, stored)
  const part: Part = { draft, put, wrong: (field) => wrongWith(save.error, field) }
  const field = fieldsOf(draft, put, save.error)
  return (
    <Panel title="How">
      <Form onSubmit={() => {
        // What is changed member by member is compared as a whole.
        void theirs.save(Object.fromEntries(Object.keys(change).map((name) => [name, { ...stored, ...change }[name as keyof Settings]])), () => save.mutate({ body: change }))
      }}>
        <Check checked={draft.enabled} onChange={(enabled) => put({ enabled })}>Prompts are made shorter; off, they pass byte for byte</Check>
        <div className="grid-fields">
          <SelectField label="Mode" {...field("defaultMode")} choices={modes} hint="Where no header, combo or length says otherwise" />
          <SelectField label="Mode of long prompts" {...field("autoTriggerMode")} choices={modes} />
          <TextField label="A prompt is long from, tokens" type="number" {...field("autoTriggerTokens")} hint="0: never" wrong={part.wrong("autoTriggerTokens")} />
        </div>
        <Check checked={draft.preserveSystemPrompt} onChange={(preserveSystemPrompt) => put({ preserveSystemPrompt })}>Instructions stay as they are</Check>
        <More fields={ofPrompts} values={draft.more} put={(more) => put({ more })} wrong={part.wrong} />
        <Pipeline {...part} />
        <OfCombos {...part} />
        <Caveman {...part} />
        <Rtk {...part} />
        {groups.map(({ fields, word }) => (
          <details key={word}>
            <summary>{word}</summary>
            <div className="stack"><More fields={fields} values={draft.more} put={(more) => put({ more })} wrong={part.wrong} /></div>
          </details>
        ))}
        {list.length === 0 ? null : <Changes list={list} />}
        <Submit failed="Nothing was changed" of={save} theirs={theirs} isSame={list.length === 0} isOff={!isJson(String(draft.more["rtkConfig.customFilters"]))} onDiscard={() => onDraft(draftOf(stored))} />
      </Form>
    </Panel>
  )
}
