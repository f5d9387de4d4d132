/** Prompts that are sent shorter: what that saves, how it is done, and what it would do to a text. */
import { useRead } from "../../api/query.ts"
import { isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { Page } from "../../parts/Page.tsx"
import { useDraft } from "../../parts/edit/useDraft.ts"
import { changeOf, draftOf, type Settings } from "./draft.ts"
import { Fields } from "./Fields.tsx"
import { Preview } from "./Preview.tsx"
import { Savings, useSavings } from "./Savings.tsx"
import { Whole } from "./Whole.tsx"

const Edited = ({ stored }: { readonly stored: Settings }) => {
  const [draft, setDraft] = useDraft(stored, draftOf)
  return (
    <>
      <Fields stored={stored} draft={draft} onDraft={setDraft} />
      <Preview config={changeOf(draft, stored)} />
    </>
  )
}

const Compression = () => {
  const read = useRead("GET /api/settings/compression")
  const savings = useSavings().read
  return (
    <Page title="Compression" lead="Prompts can be sent shorter than their clients wrote them. Code, files, errors and cached beginnings stay as they are.">
      {!isSettled(read, savings) ? <Skeleton rows={8} /> : (
        <>
          <Savings />
          <Loaded read={read} what="The settings of compression">{(stored) => <Edited stored={stored} />}</Loaded>
          <Whole />
        </>
      )}
    </Page>
  )
}

export default Compression
