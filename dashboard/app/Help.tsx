/** All keys of the page, and the switch that turns single ones off. */
import { Dialog } from "../parts/Dialog.tsx"
import { Check } from "../parts/Field.tsx"
import { useKeysAct } from "./privacy.ts"
import { areas } from "./screens.ts"

const keys: ReadonlyArray<readonly [string, string]> = [
  ["Ctrl K", "go to a screen, or find a request"], ["/", "to the filter of the screen"], ["y", "copy what the screen reads as curl"], ["Shift P", "blur names, prompts and money"],
  ["Esc", "close a window"], ["Alt ↑, Alt ↓", "move a step of a combo"], ["?", "this list"]
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
