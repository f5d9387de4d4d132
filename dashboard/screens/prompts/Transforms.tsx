/** What changes in the instructions that the models of a provider are given: the setting as it is stored. */
import { call } from "../../api/call.ts"
import type { Body } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { Changes } from "../../parts/edit/Changes.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { useTheirs } from "../../parts/edit/Theirs.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { AreaField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"

type Value = NonNullable<Body<"PATCH /api/settings">["systemTransforms"]>

const written = (stored: unknown): string => JSON.stringify(stored ?? {}, null, 2)

/** Null for what is no JSON; its shape is the gateway's to judge. */
const read = (text: string): Value | null => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Value : null
  } catch {
    return null
  }
}

export const Transforms = ({ stored }: { readonly stored: unknown }) => {
  const [draft, setDraft] = useDraft(stored, written)
  const value = read(draft)
  const before = written(stored)
  const isSame = value !== null && written(value) === before
  const save = useChange("PATCH /api/settings", ["GET /api/settings"], undefined, {
    said: "The transforms are changed.", undo: () => () => call("PATCH /api/settings", { body: { systemTransforms: read(before) ?? {} } })
  })
  const theirs = useTheirs(async () => ({ systemTransforms: (await call("GET /api/settings"))["systemTransforms"] ?? {} }), { systemTransforms: stored ?? {} })
  return (
    <Panel title="Transforms of instructions">
      <Form onSubmit={() => value === null ? undefined : void theirs.save({ systemTransforms: value }, () => save.mutate({ body: { systemTransforms: value } }))}>
        <p className="muted">By provider: paragraphs and blocks go, texts are said otherwise, blocks stand in front or behind. The name * is every provider.</p>
        <AreaField label="Transforms as JSON" rows={8} value={draft} onChange={setDraft} wrong={value === null ? "Expected a JSON object" : undefined}
          hint={"For example {\"providers\": {\"*\": {\"pipeline\": [{\"kind\": \"drop_paragraph_if_contains\", \"needles\": [\"internal.example\"]}]}}}"} />
        {isSame || value === null ? null : <Changes list={[{ what: "systemTransforms", before, after: written(value) }]} />}
        <Submit failed="The transforms were not changed" of={save} theirs={theirs} isSame={isSame} isOff={value === null} onDiscard={() => setDraft(before)} name="the transforms" />
      </Form>
    </Panel>
  )
}
