/** What a save would change, field by field, before it is made. */
export interface Difference {
  readonly what: string
  readonly before: string
  readonly after: string
}

export const Changes = ({ after = "Now", before = "Stored", list, title = "Changes" }: { readonly list: ReadonlyArray<Difference>; readonly title?: string; readonly before?: string; readonly after?: string }) => (
  <section aria-label={title} className="stack-tight">
    <h3>{title}</h3>
    {list.length === 0 ? <p className="small muted">None.</p> : (
      <table className="table" aria-label={title}>
        <thead><tr><th scope="col">Field</th><th scope="col">{before}</th><th scope="col">{after}</th></tr></thead>
        <tbody>{list.map((difference) => <tr key={difference.what}><th scope="row">{difference.what}</th><td className="wrap">{difference.before === "" ? "–" : difference.before}</td><td className="wrap">{difference.after === "" ? "–" : difference.after}</td></tr>)}</tbody>
      </table>
    )}
  </section>
)
