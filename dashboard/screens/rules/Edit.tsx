/** One rule: for which models it is, and what it puts in or takes away. */
import { useState } from "react"
import { call, Problem } from "../../api/call.ts"
import { useChange } from "../../api/query.ts"
import { Lines } from "../../parts/edit/Lines.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { bodyOf, type Draft, draftOf, isWhole, type Kind, kinds, protocols, ruleOf, type Stored } from "./words.ts"

const touched = ["GET /api/settings/payload-rules"] as const

/** Of the rule at this place, what the gateway said about a part of it. */
const wrongIn = (error: Error | null, start: string): string | undefined => error instanceof Problem ? error.details.find(({ field }) => field.startsWith(start))?.message : undefined

/** `at`: its place in the list; behind the last for a new one. */
export const Edit = ({ at, kind, onClose, stored }: { readonly kind: Kind; readonly at: number; readonly stored: Stored; readonly onClose: () => void }) => {
  const list: ReadonlyArray<Stored[Kind][number]> = stored[kind]
  const before = list[at] ?? null
  const [draft, setDraft] = useState<Draft>(() => draftOf(kind, before))
  const rule = ruleOf(kind, draft)
  const next = [...list.slice(0, at), rule, ...list.slice(at + 1)]
  const save = useChange("PUT /api/settings/payload-rules", touched, onClose, { said: before === null ? "The rule is added." : "The rule is changed.", undo: () => () => call("PUT /api/settings/payload-rules", { body: bodyOf(kind, list) }) })
  const theirs = useTheirs(async () => ({ ...(await call("GET /api/settings/payload-rules")) }), { ...stored })
  const title = kinds.find(({ name }) => name === kind)?.word ?? kind
  return (
    <Dialog title={before === null ? `New rule: ${title}` : `Rule ${at + 1}: ${title}`} wide onClose={onClose} onSubmit={() => void theirs.save({ [kind]: next }, () => save.mutate({ body: bodyOf(kind, next) }))}>
      <Lines label="For" one="model" lines={draft.models} onLines={(models) => setDraft({ ...draft, models })} columns={[{ word: "Model", placeholder: "gpt-5* or openai/*" }, { word: "Format of its upstream", choices: protocols }]} wrong={wrongIn(save.error, `${kind}.${at}.models`)} />
      <Lines
        label={kind === "filter" ? "Takes away" : "Puts in"} one={kind === "filter" ? "path" : "value"} lines={draft.params} onLines={(params) => setDraft({ ...draft, params })}
        columns={kind === "filter" ? [{ word: "Path", placeholder: "logit_bias.:50256" }] : [{ word: "Path", placeholder: "reasoning.effort" }, { word: kind === "defaultRaw" ? "JSON" : "Value", placeholder: kind === "defaultRaw" ? "{\"team\": \"a\"}" : "high" }]}
        wrong={wrongIn(save.error, `${kind}.${at}.params`)}
      />
      <p className="small muted">* in a name stands for any characters. {kind === "filter" ? "" : kind === "defaultRaw" ? "A JSON text is written as it is. " : "A value is JSON; what is none is a text. "}Names and indexes of a path have dots between them.</p>
      <Submit failed="The rule was not stored" of={save} theirs={theirs} isOff={!isWhole(rule) || before !== null && JSON.stringify(rule) === JSON.stringify(ruleOf(kind, draftOf(kind, before)))} onClose={onClose} />
    </Dialog>
  )
}
