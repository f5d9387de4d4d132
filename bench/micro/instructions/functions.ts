/** Which functions the instructions of a request go to, from callgrind's files and the names that V8 gave to compiled code. */

/** Instructions of each function itself, without those of what it calls. Code that V8 has compiled has an address in the place of a name. */
export const costsOf = (text: string): ReadonlyMap<string, number> => {
  const names = new Map<string, string>()
  const costs = new Map<string, number>()
  let current = ""
  let isOfCall = false
  for (const line of text.split("\n")) {
    const [, called, id, name] = /^(c?)fn=\((\d+)\)(?: (.*))?$/.exec(line) ?? []
    if (id !== undefined) {
      if (name !== undefined) names.set(id, name)
      if (called === "") current = names.get(id) ?? id
    } else if (line.startsWith("calls=")) isOfCall = true
    else if (/^[+*\d-]/.test(line)) {
      if (!isOfCall) costs.set(current, (costs.get(current) ?? 0) + Number(line.slice(line.indexOf(" ") + 1)))
      isOfCall = false
    }
  }
  return costs
}

/** Names by the address at which code begins, from the file of `--perf-basic-prof`; of code that took another's place, the later. */
export const namesOf = (text: string): ReadonlyMap<number, string> => {
  const names = new Map<number, string>()
  for (const line of text.split("\n")) {
    const [, address, name] = /^([0-9a-f]+) [0-9a-f]+ (.+)$/.exec(line) ?? []
    if (address !== undefined && name !== undefined) names.set(Number.parseInt(address, 16), name)
  }
  return names
}

export interface FunctionCost {
  readonly name: string
  readonly perRequest: number
}

/** The dearest first. Calls of a function within itself count as its own. */
export const dearest = (parts: ReadonlyArray<ReadonlyMap<string, number>>, names: ReadonlyMap<number, string>, requests: number): ReadonlyArray<FunctionCost> => {
  const sums = new Map<string, number>()
  for (const part of parts) {
    for (const [given, cost] of part) {
      const address = /^0x([0-9a-f]+)/.exec(given)?.[1]
      const name = (address === undefined ? given : names.get(Number.parseInt(address, 16)) ?? given).replace(/'\d+$/, "")
      sums.set(name, (sums.get(name) ?? 0) + cost)
    }
  }
  return [...sums].map(([name, sum]) => ({ name, perRequest: sum / requests })).sort((a, b) => b.perRequest - a.perRequest)
}
