/** Combos for tests over HTTP: providers of one model each that say their name, and combos of them. */
import type { TruthEntry } from "#src/simulator/TruthLog.ts"
import type * as Http from "./http.ts"
import { eventually } from "./operator.ts"
import type { Lab } from "./lab.ts"

export interface Place {
  /** What it answers unless told otherwise. */
  readonly name: string
  /** `<provider>/<model>`. */
  readonly model: string
  /** The model as the upstream knows it. */
  readonly upstream: string
  readonly connections: ReadonlyArray<string>
}

export interface Combos {
  /** A provider with one model and so many connections; `script` is what the simulator does for it. */
  readonly place: (script?: Record<string, unknown>, connections?: number) => Promise<Place>
  /** Answers the model id by which the combo is asked. */
  readonly combo: (strategy: string, models: ReadonlyArray<unknown>, more?: Record<string, unknown>) => Promise<string>
  /** What the upstream saw of a place, in the order of arrival. */
  readonly seen: (place: Place) => Promise<ReadonlyArray<TruthEntry>>
  /** Waits until a place is being asked. */
  readonly asked: (place: Place) => Promise<unknown>
}

/** Counts over the whole process: a test that is tried again finds its names free. */
let made = 0

/** `tag` keeps apart the names of test files that share a simulator. */
export const combosOf = (lab: Lab, tag: string): Combos => {
  return {
    place: async (script = {}, connections = 1) => {
      const name = `${tag}${++made}`
      const upstream = `m-${name}`
      const ids = await lab.pool(name, Array.from({ length: connections }, (_, i) => `${name}-credential-number-${i}`))
      await lab.sim.rule({ id: name, match: { model: upstream }, script: { text: name, ...script } })
      return { name, model: `${name}/${upstream}`, upstream, connections: ids }
    },
    combo: async (strategy, models, more = {}) => {
      const name = `${tag}-${strategy}-${++made}`
      await lab.gateway.operator.call("POST", "/api/combos", { name, models, strategy, ...more })
      return `combo/${name}`
    },
    seen: ({ upstream }) => lab.sim.entries({ model: upstream }),
    asked: ({ upstream }) => eventually(() => lab.sim.entries({ model: upstream, outcome: "open" }), ({ length }) => length > 0, `a call of ${upstream}`)
  }
}

export interface Message {
  readonly role: string
  readonly content: string | ReadonlyArray<{ readonly text: string }>
}

/** The messages of a chat-completions request that the upstream got. */
export const messagesIn = (entry: TruthEntry | undefined): ReadonlyArray<Message> =>
  (entry?.body as { readonly messages: ReadonlyArray<Message> } | undefined)?.messages ?? []

export const wordsIn = ({ content }: Message): string => typeof content === "string" ? content : content.map(({ text }) => text).join("\n")

/** All that a request said to its model. */
export const saidTo = (entry: TruthEntry | undefined): string => messagesIn(entry).map(wordsIn).join("\n")

/** The text of a whole chat completion. */
export const answerOf = (reply: Http.Reply): string =>
  (JSON.parse(reply.text) as { choices: ReadonlyArray<{ message: { content: string } }> }).choices[0]?.message.content ?? ""
