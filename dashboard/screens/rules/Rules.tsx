/** What is changed in the bodies that upstreams are sent, by model: four lists, in the order in which they act. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { counted } from "../../format/numbers.ts"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Edit } from "./Edit.tsx"
import { bodyOf, type Kind, kinds, modelWords, moved, paramWords, type Rule, type Stored } from "./words.ts"

/** Characters of a line that are drawn. */
const SHOWN = 60
const cut = (text: string): string => text.length > SHOWN ? `${text.slice(0, SHOWN)} …` : text

interface Open {
  readonly kind: Kind
  readonly at: number
}

const List = ({ does, name, onOpen, stored, word }: typeof kinds[number] & { readonly stored: Stored; readonly onOpen: (open: Open) => void }) => {
  const list: ReadonlyArray<Rule> = stored[name]
  const save = useChange("PUT /api/settings/payload-rules", ["GET /api/settings/payload-rules"], undefined, { said: "The rules are changed.", undo: () => () => call("PUT /api/settings/payload-rules", { body: bodyOf(name, list) }) })
  const put = (next: ReadonlyArray<Rule>): void => save.mutate({ body: bodyOf(name, next) })
  return (
    <Panel title={word} actions={<Button kind="small" onClick={() => onOpen({ kind: name, at: list.length })} aria-label={`Add a rule: ${word}`}><Icon name="plus" size={15} />Add a rule</Button>}>
      <Failure what="The rules were not changed" error={save.error} inPanel />
      {list.length === 0 ? <p className="panel-body muted">No rule. {does}</p> : (
        <>
          <p className="panel-head small muted">{does}</p>
          <Table label={word}>
            <Head of={["For", name === "filter" ? "Takes away" : "Puts in", ""]} />
            <tbody>
              {list.map((rule, at) => (
                <tr key={JSON.stringify([at, rule])}>
                  <td className="nowrap">{modelWords(rule).map((one) => <p key={one} title={one}><code>{cut(one)}</code></p>)}</td>
                  <td className="nowrap">{paramWords(name, rule).map((one) => <p key={one} title={one}><code>{cut(one)}</code></p>)}</td>
                  <Actions>
                    <Button kind="small quiet icon" disabled={at === 0 || save.isPending} onClick={() => put(moved(list, at, at - 1))} aria-label={`Rule ${at + 1} of ${word} acts earlier`} title="Earlier"><Icon name="up" size={16} /></Button>
                    <Button kind="small quiet icon" disabled={at === list.length - 1 || save.isPending} onClick={() => put(moved(list, at, at + 1))} aria-label={`Rule ${at + 1} of ${word} acts later`} title="Later"><Icon name="down" size={16} /></Button>
                    <IconButton icon="edit" word="Edit" of={`rule ${at + 1} of ${word}`} onClick={() => onOpen({ kind: name, at })} />
                    <IconButton icon="trash" word="Delete" of={`rule ${at + 1} of ${word}`} disabled={save.isPending} onClick={() => put(list.filter((_, index) => index !== at))} />
                  </Actions>
                </tr>
              ))}
            </tbody>
          </Table>
        </>
      )}
    </Panel>
  )
}

const Rules = () => {
  const read = useRead("GET /api/settings/payload-rules")
  const [open, setOpen] = useState<Open | null>(null)
  const rules = read.data === undefined ? 0 : kinds.reduce((sum, { name }) => sum + read.data[name].length, 0)
  return (
    <Page title="Payload rules" lead="What is changed in the bodies that upstreams are sent, whatever the client. The lists act in this order; guardrails have read the body before.">
      <Loaded read={read} what="The rules" rows={8}>
        {(stored) => (
          <>
            <p className="small muted" role="status">{rules === 0 ? "No rule: bodies pass as they are written." : `${counted(rules, "rule acts", "rules act")} on conversations of all formats.`}</p>
            {kinds.map((kind) => <List key={kind.name} {...kind} stored={stored} onOpen={setOpen} />)}
            {open === null ? null : <Edit {...open} stored={stored} onClose={() => setOpen(null)} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}

export default Rules
