/** Bars from zero, with the same numbers as a table for those who do not see them. */
export interface Bar {
  readonly word: string
  readonly value: number
  /** Of a stretch of time that is not whole. */
  readonly isPart?: boolean
}

export const Bars = ({ bars, first, label, last, shown }: { readonly label: string; readonly bars: ReadonlyArray<Bar>; readonly shown: (value: number) => string; readonly first: string; readonly last: string }) => {
  const most = Math.max(...bars.map(({ value }) => value), 0)
  return (
    <figure>
      <div className="bars" aria-hidden="true">
        {bars.map(({ isPart, value, word }, index) => <span key={`${index} ${word}`} className={isPart === true ? "bar-part" : undefined} title={`${word}: ${shown(value)}`} style={{ height: most === 0 ? "1px" : `max(1px, ${value / most * 100}%)` }} />)}
      </div>
      <div className="bars-foot" aria-hidden="true"><span>{first}</span><span className="number">most {shown(most)}</span><span>{last}</span></div>
      <table className="hidden-text">
        <caption>{label}</caption>
        <tbody>{bars.map(({ isPart, value, word }, index) => <tr key={`${index} ${word}`}><th scope="row">{word}</th><td>{shown(value)}{isPart === true ? ", in part" : ""}</td></tr>)}</tbody>
      </table>
    </figure>
  )
}

/** How much of a limit is used. */
export const Meter = ({ label, share }: { readonly share: number; readonly label: string }) => {
  const part = Math.max(0, Math.min(1, share))
  return (
    <span className="meter" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(part * 100)}>
      <span className={part >= 1 ? "meter-bad" : part >= 0.8 ? "meter-warn" : undefined} style={{ width: `${part * 100}%` }} />
    </span>
  )
}
