/** A client's report as an issue and as an audit entry: what looks like a credential stays out of both. Pure. */
import type { Issue } from "./IssueTracker.ts"
import type { IssueReport } from "./api.ts"

const secretLike = /\b(?:sk|gsk|xai|pk|rk|ghp|gho|ghs|github_pat|gwa_live|gwa_sync|AIza|Bearer|Basic)[-_ ]?[\w+/=.*-]{8,}|eyJ[\w-]+(?:\.[\w-]*){0,2}/g

const clean = (text: string): string => text.replaceAll(secretLike, "[redacted]")

/** The report without credentials and empty members. */
export const cleaned = ({ labels, ...texts }: IssueReport): IssueReport => ({
  ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== "").map(([name, text]) => [name, clean(text)])),
  title: clean(texts.title),
  ...(labels === undefined ? {} : { labels: labels.map(clean) })
})

/** Text of a client in markdown: a block that it cannot leave. */
const quoted = (text: string): string => {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}text\n${text}\n${fence}`
}

/** `report`: cleaned. `reporter`: the reporter's name for display. */
export const issueOf = (report: IssueReport, reporter: string): Issue => {
  const { details, labels = [], title, ...facts } = report
  const lines = [...Object.entries(facts), ["reportedBy", reporter]].map(([name, value]) => `${name}: ${value}`)
  return {
    title, labels,
    body: [quoted(lines.join("\n")), ...(details === undefined ? [] : [quoted(details)])].join("\n\n")
  }
}
