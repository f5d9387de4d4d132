/** The frame of a screen: title, one sentence, actions. */
import { type ReactNode, useEffect } from "react"
import { usePreferences } from "../api/preferences.ts"

export const Page = ({ actions, children, lead, title }: { readonly title: string; readonly lead?: ReactNode; readonly actions?: ReactNode; readonly children: ReactNode }) => {
  const { instanceName } = usePreferences()
  useEffect(() => {
    document.title = `${title} · ${instanceName}`
  }, [instanceName, title])
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

/** `id`: what an index leads to. */
export const Panel = ({ actions, children, id, title }: { readonly title?: string; readonly id?: string; readonly actions?: ReactNode; readonly children: ReactNode }) => (
  <section className="panel" aria-label={title} id={id} tabIndex={id === undefined ? undefined : -1}>
    {title === undefined ? null : <div className="panel-head"><h2>{title}</h2>{actions}</div>}
    {children}
  </section>
)
