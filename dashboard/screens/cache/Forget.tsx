/** Forgets stored answers: one, those of a model, old ones, or all; says before how many there are. */
import { useState } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { counted } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"

export type Forgotten = { readonly what: "all" } | { readonly what: "signature"; readonly signature: string; readonly model: string }

const HOUR_MS = 3_600_000

const choices = [{ value: "all", word: "All answers" }, { value: "model", word: "Answers of one model" }, { value: "stale", word: "Answers older than" }]

export const Forget = ({ asked, onClose }: { readonly asked: Forgotten; readonly onClose: () => void }) => {
  const [scope, setScope] = useState("all")
  const [model, setModel] = useState("")
  const [hours, setHours] = useState("24")
  const isOne = asked.what === "signature"
  const named = scope === "model" ? model.trim() : ""
  const before = useRead("GET /api/cache/entries", { query: { limit: 1, page: 1, ...(named === "" ? {} : { model: named }) } }, { enabled: !isOne && scope !== "stale" })
  const forget = useChange("DELETE /api/cache", ["GET /api/cache", "GET /api/cache/entries"], onClose, {
    said: (answer) => `${counted("cleared" in answer ? answer.cleared : answer.invalidated, "answer is", "answers are")} forgotten.`, isRecord: false
  })
  const query = isOne ? { signature: asked.signature } : scope === "model" ? { model: named } : scope === "stale" ? { staleMs: Math.round(Number(hours) * HOUR_MS) } : {}
  return (
    <Confirm
      title={isOne ? "Forget this answer?" : "Forget stored answers"} confirm="Forget" pending={forget.isPending || !isOne && scope === "model" && named === "" || scope === "stale" && !(Number(hours) >= 0 && hours !== "")} onClose={onClose} onConfirm={() => forget.mutate({ query })}
      failed="Nothing was forgotten" error={forget.error}
    >
      {isOne ? <p>The next equal request of {asked.model} goes to a provider again.</p> : (
        <div className="stack">
          <SelectField label="What" value={scope} choices={choices} onChange={setScope} />
          {scope === "model" ? <TextField label="Model" value={model} onChange={setModel} required /> : null}
          {scope === "stale" ? <TextField label="Hours" type="number" value={hours} onChange={setHours} required /> : null}
          {scope === "stale" ? <p className="muted">Their requests go to providers again.</p> : <p className="number" role="status">{before.data === undefined ? "Counting …" : `${counted(before.data.pagination.total, "answer is", "answers are")} stored${named === "" ? "" : ` of ${named}`}. Their requests go to providers again.`}</p>}
        </div>
      )}
    </Confirm>
  )
}
