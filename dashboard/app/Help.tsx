/** All keys of the page, and the switch that turns single ones off. */
import { Dialog } from "../parts/Dialog.tsx"
import { Check } from "../parts/Field.tsx"
import { useKeysAct } from "./privacy.ts"
import { areas } from "./screens.ts"

const keys: ReadonlyArray<readonly [string, string]> = [
  ["Ctrl K", "go to a screen, or find a request"], ["/", "to the filter of the screen"], ["c", "copy the link to this view"], ["y", "copy what the screen reads as curl"], ["Shift P", "blur names, prompts and money"],
  ["J, K or [ ]", "the next and the previous request"], ["f", "to the facets of the requests"], ["l", "requests: pause, go on"], ["d", "a request: then and now"], ["Esc", "close a window"], ["Alt ↑, Alt ↓", "move a step of a combo"], ["?", "this list"]
]

const Help = ({ onClose }: { readonly onClose: () => void }) => {
  const [act, setAct] = useKeysAct()
  return (
    <Dialog title="Keys" wide onClose={onClose}>
      <Check checked={act} onChange={setAct}>Single keys act. Switch them off if you speak to your computer, or press keys by mistake; Ctrl K stays.</Check>
      <div className="columns">
        <dl className="pairs">{keys.map(([key, word]) => [<dt key={key}><kbd>{key}</kbd></dt>, <dd key={word}>{word}</dd>])}</dl>
        <dl className="pairs">{areas.flatMap(({ screens }) => screens).map(({ key, word }) => [<dt key={key}><kbd>g</kbd> <kbd>{key}</kbd></dt>, <dd key={word}>{word}</dd>])}</dl>
      </div>
    </Dialog>
  )
}

export default Help
