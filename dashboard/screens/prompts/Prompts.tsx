/** What the gateway says in every conversation, and how much models may think. */
import { useRead } from "../../api/query.ts"
import { isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { Page } from "../../parts/Page.tsx"
import { Texts } from "./Texts.tsx"
import { Transforms } from "./Transforms.tsx"
import { Thinking } from "./Thinking.tsx"

const Prompts = () => {
  const texts = useRead("GET /api/settings/system-prompt")
  const thinking = useRead("GET /api/settings/thinking-budget")
  const settings = useRead("GET /api/settings")
  return (
    <Page title="Prompts & thinking" lead="What holds for every conversation, whatever its client, format and model.">
      {!isSettled(texts, thinking, settings) ? <Skeleton rows={8} /> : (
        <>
          <Loaded read={texts} what="The gateway's own prompt">{(stored) => <Texts stored={stored} />}</Loaded>
          <Loaded read={settings} what="The settings">{(stored) => <Transforms stored={stored["systemTransforms"]} />}</Loaded>
          <Loaded read={thinking} what="The thinking budget">{(stored) => <Thinking stored={stored} />}</Loaded>
        </>
      )}
    </Page>
  )
}

export default Prompts
