/** Buttons: as large and as loud as they say; they submit nothing unless they say so. */
import type { ButtonHTMLAttributes } from "react"
import { Icon, type IconName } from "./Icon.tsx"

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className"> {
  /** Words of `style/parts.css` with blanks between them, such as `small quiet`. */
  readonly kind?: string
}

export const Button = ({ kind = "", type = "button", ...rest }: Props) =>
  // oxlint-disable-next-line react/button-has-type -- it is one of the three, and `button` where nothing is said
  <button type={type} className={`button${kind.replace(/ ?(\w+)/g, " button-$1")}`} {...rest} />

/** A small sign that acts on the record of its row: `word` says what it does, `of` to which one. */
export const IconButton = ({ icon, of, word, ...rest }: Omit<Props, "kind"> & { readonly icon: IconName; readonly word: string; readonly of: string }) => (
  <Button kind="small quiet icon" aria-label={`${word} ${of}`} title={word} {...rest}><Icon name={icon} size={16} /></Button>
)
