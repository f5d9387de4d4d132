/** Prometheus texts of several processes as one: what adds up is added, what belongs to one process gets the label `worker`. */

export interface WorkerText {
  readonly worker: number
  /** As `prometheusText.format` writes it: no time stamps, the series of a family behind its TYPE. */
  readonly text: string
}

/** A sum of these says nothing: each process keeps its own. */
const OF_ONE_PROCESS = /^(?:process_.*|gateway_event_loop_lag_seconds|gateway_ledger_oldest_pending_seconds|gateway_ledger_failing|gateway_ledger_gap|gateway_upstream_origins)$/

interface Family {
  /** Its comment lines. */
  readonly head: string
  readonly type: string
  readonly series: Map<string, number>
}

const labelled = (series: string, worker: number): string => {
  const brace = series.indexOf("{")
  return brace < 0 ? `${series}{worker="${worker}"}` : `${series.slice(0, brace)}{worker="${worker}",${series.slice(brace + 1)}`
}

const numberIn = (text: string): number => text === "+Inf" ? Number.POSITIVE_INFINITY : text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text)
const textOf = (value: number): string => value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

const add = (families: Map<string, Family>, { text, worker }: WorkerText, wants: (name: string, type: string) => boolean): void => {
  let help = ""
  let family: Family | null = null
  let own = false
  for (const line of text.split("\n")) {
    if (line === "") continue
    if (line.startsWith("# HELP ")) {
      help = `${line}\n`
      continue
    }
    if (line.startsWith("# TYPE ")) {
      const [, , name = "", type = ""] = line.split(" ")
      own = OF_ONE_PROCESS.test(name)
      family = families.get(name) ?? null
      if (!wants(name, type)) family = null
      else if (family === null) {
        family = { head: `${help}${line}\n`, type, series: new Map() }
        families.set(name, family)
      }
      help = ""
      continue
    }
    if (family === null) continue
    const space = line.lastIndexOf(" ")
    const series = own ? labelled(line.slice(0, space), worker) : line.slice(0, space)
    family.series.set(series, (family.series.get(series) ?? 0) + numberIn(line.slice(space + 1)))
  }
}

const render = (families: ReadonlyMap<string, Family>): string => {
  let text = ""
  for (const { head, series } of families.values()) {
    text += head
    for (const [name, value] of series) text += `${name} ${textOf(value)}\n`
  }
  return text
}

/** Counters and histograms stay in the sum when their process is gone, so that none ever falls. */
const stays = (name: string, type: string): boolean => (type === "counter" || type === "histogram") && !OF_ONE_PROCESS.test(name)

/** `now`: processes that answered; `former`: the last texts of those that did not, or have ended. */
export const merge = (now: ReadonlyArray<WorkerText>, former: ReadonlyArray<string>): string => {
  const families = new Map<string, Family>()
  for (const part of now) add(families, part, () => true)
  for (const text of former) add(families, { worker: 0, text }, stays)
  return render(families)
}

/** What stays of texts, as one text. */
export const remains = (texts: ReadonlyArray<string>): string => merge([], texts)
