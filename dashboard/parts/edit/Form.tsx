/** A form that the page itself sends. */
import type { ReactNode } from "react"

export const Form = ({ children, className = "panel-body", onSubmit, ...rest }: { readonly onSubmit: () => void; readonly children: ReactNode; readonly className?: string; readonly "aria-label"?: string }) => (
  <form
    className={className} {...rest}
    onSubmit={(event) => {
      event.preventDefault()
      // A window over a form is a child of it for React.
      event.stopPropagation()
      onSubmit()
    }}
  >
    {children}
  </form>
)
