/** The translation bench from its command line to its tables. Imported after the schema compiler is on, as in `src/main.ts`. */
import { parseArgs } from "node:util"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { type EventCost, measurePrompts, measureStreams, type Plan, type PromptCost } from "./measure.ts"
import { shapes } from "./prompts.ts"
import { kinds, type Kind, wholeCalls } from "./streams.ts"
import { eventLines, promptLines } from "./table.ts"

export interface Results {
  readonly events: ReadonlyArray<EventCost>
  readonly prompts: ReadonlyArray<PromptCost>
  readonly worst: {
    /** The dearest pair where a piece of text goes from frame to frame, each event alone in its chunk. */
    readonly event: EventCost | null
    /** The dearest pair whose calls come whole and are parsed. */
    readonly call: EventCost | null
    /** The dearest text or image of a megabyte. */
    readonly large: PromptCost | null
    /** The dearest of 100 kB: what does not grow with the bytes weighs as much as they do. */
    readonly middle: PromptCost | null
    /** The dearest conversation of many short messages: many small values rather than many bytes. */
    readonly many: PromptCost | null
    /** The dearest of an agent's of 100 kB: parts, calls and results. */
    readonly agent: PromptCost | null
  }
}

const largeBytes = 1_000_000

const full: Plan = {
  rounds: 9, events: 2_000, streams: 5, kinds, perChunk: [1, 16], prompts: [{ bytes: 100_000, shapes }, { bytes: largeBytes, shapes }],
  bytesPerRound: 4_000_000, warmUps: 1_000, faces: null, families: null
}

/** For CI: one event per chunk and the kinds that differ, in seconds. */
const brief: Plan = {
  ...full, rounds: 5, events: 1_000, streams: 3, kinds: ["text", "arguments"], perChunk: [1], bytesPerRound: 1_500_000, warmUps: 200,
  prompts: [{ bytes: 100_000, shapes }, { bytes: largeBytes, shapes: ["text", "image"] }]
}

const most = <Item>(items: ReadonlyArray<Item>, valueOf: (item: Item) => number): Item | null =>
  items.reduce<Item | null>((worst, item) => worst === null || valueOf(item) > valueOf(worst) ? item : worst, null)

const isLarge = (cost: PromptCost): boolean => cost.bytes > largeBytes / 2

const isWholeCall = (cost: EventCost): boolean => cost.kind === "arguments" && wholeCalls.has(cost.family)

export const worstOf = (events: ReadonlyArray<EventCost>, prompts: ReadonlyArray<PromptCost>): Results["worst"] => {
  const isLong = (cost: PromptCost): boolean => cost.shape === "text" || cost.shape === "image"
  const single = events.filter((cost) => cost.perChunk === 1)
  return {
    event: most(single.filter((cost) => !isWholeCall(cost)), (cost) => cost.extra),
    call: most(single.filter(isWholeCall), (cost) => cost.extra),
    large: most(prompts.filter((cost) => isLong(cost) && isLarge(cost)), (cost) => cost.ratio),
    middle: most(prompts.filter((cost) => isLong(cost) && !isLarge(cost)), (cost) => cost.ratio),
    many: most(prompts.filter((cost) => cost.shape === "many"), (cost) => cost.ratio),
    agent: most(prompts.filter((cost) => cost.shape === "agent" && !isLarge(cost)), (cost) => cost.ratio)
  }
}

const listed = (text: string | undefined): ReadonlyArray<string> | null => text === undefined ? null : text.split(",")

export const run = (args: ReadonlyArray<string>): void => {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      json: { type: "boolean", default: false }, short: { type: "boolean", default: false }, rounds: { type: "string" },
      streams: { type: "boolean", default: true }, prompts: { type: "boolean", default: true },
      faces: { type: "string" }, families: { type: "string" }, kinds: { type: "string" }
    }
  })
  const base = values.short ? brief : full
  const plan: Plan = {
    ...base,
    rounds: values.rounds === undefined ? base.rounds : Number(values.rounds),
    faces: listed(values.faces) as ReadonlyArray<FormatName> | null,
    families: listed(values.families) as ReadonlyArray<FamilyName> | null,
    kinds: (listed(values.kinds) ?? base.kinds) as ReadonlyArray<Kind>
  }
  const events = values.streams ? measureStreams(plan) : []
  const prompts = values.prompts ? measurePrompts(plan) : []
  const results: Results = { events, prompts, worst: worstOf(events, prompts) }
  if (values.json) {
    console.log(JSON.stringify(results))
    return
  }
  const { agent, call, event, large, many, middle } = results.worst
  for (const line of [...eventLines(events), ...promptLines(prompts), ""]) console.log(line)
  for (const [title, cost] of [["event", event], ["whole call", call]] as const) {
    if (cost !== null) console.log(`worst ${title}: +${cost.extra.toFixed(2)} us, ${cost.face} from ${cost.family}, ${cost.kind}`)
  }
  for (const cost of [large, middle, many, agent]) {
    if (cost !== null) console.log(`worst ${cost.shape} prompt: ${cost.ratio.toFixed(2)} x JSON.parse, ${cost.face} to ${cost.family}, ${Math.round(cost.bytes / 1000)} kB`)
  }
}
