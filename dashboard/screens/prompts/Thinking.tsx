/** How much models think, whatever clients ask. */
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"

type Stored = Answer<"GET /api/settings/thinking-budget">
type Change = Body<"PUT /api/settings/thinking-budget">

const modes = [
  { value: "passthrough", word: "As the client asks" }, { value: "auto", word: "As the model likes: the client's wish is taken away" }, { value: "custom", word: "A number of tokens, for all" },
  { value: "adaptive", word: "By the request: more for long conversations, many tools and long questions" }
] as const
const efforts = [{ value: "none", word: "none" }, { value: "low", word: "low" }, { value: "medium", word: "medium" }, { value: "high", word: "high" }] as const

/** Numbers as texts of the form; no base = that of the effort. */
interface Draft extends Pick<Stored, "effortLevel" | "mode"> {
  readonly customBudget: string
  readonly baseBudget: string
  readonly complexityMultiplier: string
}

const draftOf = ({ baseBudget, complexityMultiplier, customBudget, effortLevel, mode }: Stored): Draft =>
  ({ mode, effortLevel, customBudget: String(customBudget), baseBudget: baseBudget === null ? "" : String(baseBudget), complexityMultiplier: String(complexityMultiplier) })
const wholeOf = ({ baseBudget, complexityMultiplier, customBudget, effortLevel, mode }: Draft): Stored =>
  ({ mode, effortLevel, customBudget: Number(customBudget), baseBudget: baseBudget === "" ? null : Number(baseBudget), complexityMultiplier: Number(complexityMultiplier) })
const names = ["mode", "customBudget", "effortLevel", "baseBudget", "complexityMultiplier"] as const

export const Thinking = ({ stored }: { readonly stored: Stored }) => {
  const [draft, setDraft] = useDraft(stored, draftOf)
  const put = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const now = wholeOf(draft)
  const changed = names.filter((name) => now[name] !== stored[name])
  const change: Change = Object.fromEntries(changed.map((name) => [name, now[name]]))
  const save = useChange("PUT /api/settings/thinking-budget", ["GET /api/settings/thinking-budget"], (answer) => setDraft(draftOf(answer)), {
    said: "The thinking budget is changed.",
    undo: (_, { body }) => () => call("PUT /api/settings/thinking-budget", { body: Object.fromEntries(Object.keys(body ?? {}).map((name) => [name, stored[name as keyof Stored]])) as Change })
  })
  const theirs = useTheirs(async () => ({ ...(await call("GET /api/settings/thinking-budget")) }), { ...stored })
  const isOpen = draft.customBudget === "" || draft.complexityMultiplier === ""
  const field = fieldsOf(draft, put, save.error)
  return (
    <Panel title="Thinking budget">
      <Form onSubmit={() => void theirs.save({ ...change }, () => save.mutate({ body: change }))}>
        <p className="muted">It decides before the client and its effort header do. What the name of a model says goes before it.</p>
        <SelectField label="How much models think" {...field("mode")} choices={modes} />
        <div className="grid-fields">
          {draft.mode === "custom" ? <TextField label="Tokens of thought" type="number" {...field("customBudget")} hint="0 to 131072; 0: models do not think" /> : null}
          {draft.mode === "adaptive" ? (
            <>
              <SelectField label="Begins with the effort" {...field("effortLevel")} choices={efforts} />
              <TextField label="Begins with, tokens" type="number" {...field("baseBudget")} hint="Empty: those of the effort" />
              <TextField label="How much is added" type="number" {...field("complexityMultiplier")} hint="0 to 10; 0: nothing" />
            </>
          ) : null}
        </div>
        {changed.length === 0 ? null : <Changes list={changed.map((what) => ({ what, before: String(stored[what] ?? "none"), after: String(now[what] ?? "none") }))} />}
        <Submit failed="The thinking budget was not changed" of={save} theirs={theirs} isSame={changed.length === 0} isOff={isOpen} onDiscard={() => setDraft(draftOf(stored))} name="the thinking budget" />
      </Form>
    </Panel>
  )
}
