/** The frame of a screen: title, one sentence, actions. */
import { type ReactNode, useEffect } from "react"

export const Page = ({ actions, children, lead, title }: { readonly title: string; readonly lead?: ReactNode; readonly actions?: ReactNode; readonly children: ReactNode }) => {
  useEffect(() => {
    document.title = `${title} · Gateway`
  }, [title])
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {lead === undefined ? null : <p className="muted">{lead}</p>}
        </div>
        {actions === undefined ? null : <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export const Panel = ({ actions, children, title }: { readonly title?: string; readonly actions?: ReactNode; readonly children: ReactNode }) => (
  <section className="panel" aria-label={title}>
    {title === undefined ? null : <div className="panel-head"><h2>{title}</h2>{actions}</div>}
    {children}
  </section>
)
