/** One gateway follows the configuration of another: tokens for those that follow this one, and the one that this one follows. */
import { useRead } from "../../api/query.ts"
import { isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { Page } from "../../parts/Page.tsx"
import { Follow } from "./Follow.tsx"
import { Tokens } from "./Tokens.tsx"

const EVERY_MS = 10_000

const Sync = () => {
  const cloud = useRead("GET /api/sync/cloud", {}, { everyMs: EVERY_MS })
  const tokens = useRead("GET /api/sync/tokens", {}, { everyMs: EVERY_MS })
  return (
    <Page title="Synchronisation" lead="One gateway follows the configuration of another: nodes, connections, combos, keys and webhooks. No secret travels.">
      {!isSettled(cloud, tokens) ? <Skeleton rows={8} /> : (
        <>
          <Loaded read={cloud} what="What this gateway follows">{(status) => <Follow status={status} />}</Loaded>
          <Loaded read={tokens} what="The sync tokens">{({ tokens: list }) => <Tokens list={list} />}</Loaded>
        </>
      )}
    </Page>
  )
}

export default Sync
