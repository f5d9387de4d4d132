/** What the screen reads, as curl lines: the API can do all that the page does. */
import { addressesOf } from "../api/query.ts"
import { CodeBlock } from "../parts/Copy.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { urlOf } from "./place.ts"

const Curl = ({ onClose }: { readonly onClose: () => void }) => {
  const lines = addressesOf().map((path) => `curl -b cookies.txt '${urlOf(path).href.replaceAll("'", "%27")}'`)
  return (
    <Dialog title="This screen as curl" wide onClose={onClose}>
      <p className="muted small">Sign in once: <code>curl -c cookies.txt {urlOf("/api/auth/login").href} -H 'content-type: application/json' -d '{"{\"password\": \"…\"}"}'</code></p>
      <CodeBlock label="curl lines" text={lines.join("\n")} />
    </Dialog>
  )
}

export default Curl
