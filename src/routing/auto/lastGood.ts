/** The last target that answered, per combo and key: what strategies remember of it, and how it is read, forgotten and left out. Pure. */
import type { Combo, ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate, Memory, Moment } from "#src/routing/models/candidate.ts"
import type { Memories } from "#src/routing/Memories.ts"
import { countIn, textIn } from "#src/routing/strategies/ranking.ts"

/** The memory after a candidate answered; the same while it is the same one. */
export const remembered = ({ executionKey, target }: Candidate, memory: Memory, moment: Pick<Moment, "now">): Memory =>
  textIn(memory, "last") === executionKey
    ? memory
    : { ...memory, last: executionKey, lastModel: target.publicModel, lastConnection: target.connection?.id ?? null, lastSince: moment.now }

/** What answered last, in one combo for one key. */
export interface LastGood {
  readonly comboId: string
  /** Null: requests without a key. */
  readonly keyId: string | null
  readonly model: string
  readonly connectionId: string | null
  /** ms since the epoch: its first answer in a row. */
  readonly since: number
}

/** Newest first. Memories of both strategies have the key `<strategy>\n<combo id>\n<key id>`. */
export const listed = (memories: Memories): ReadonlyArray<LastGood> => {
  const found: Array<LastGood> = []
  for (const [key, memory] of memories.entries()) {
    const model = textIn(memory, "lastModel")
    const [, comboId = "", keyId = ""] = key.split("\n")
    if (model !== null) found.push({ comboId, keyId: keyId === "" ? null : keyId, model, connectionId: textIn(memory, "lastConnection"), since: countIn(memory, "lastSince") })
  }
  return found.sort((a, b) => b.since - a.since)
}

/** What else is remembered stays. */
export const forget = (memories: Memories): void => {
  // Read first: what is set anew moves.
  const held = [...memories.entries()]
  for (const [key, memory] of held) {
    if (textIn(memory, "last") === null) continue
    const { last: _last, lastConnection: _connection, lastModel: _model, lastSince: _since, ...rest } = memory
    memories.set(key, memory, rest)
  }
}

/** Setting lkgpEnabled. */
export const isOn = (settings: ReadonlyMap<string, unknown>): boolean => settings.get("lkgpEnabled") !== false

/** The combo as it is while the setting is off: by the rules, without what answered last. `config`: with the layers under it. */
export const without = (combo: Combo, { routerStrategy }: ComboConfig): Combo => {
  if (combo.strategy !== "lkgp" && (combo.strategy !== "auto" || routerStrategy !== "lkgp")) return combo
  return { ...combo, strategy: "auto", config: { ...combo.config, routerStrategy: "rules", ...(combo.strategy === "lkgp" ? { explorationRate: 0 } : {}) } }
}
