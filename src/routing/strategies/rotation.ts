/** Strategies that take turns: round-robin (over steps) and strict-random (a shuffled deck of targets). */
import type { Candidate } from "#src/routing/models/candidate.ts"
import { countIn, shuffled, type Strategic, strategy, type StepGroup, stepsOf, textIn } from "#src/routing/strategies/ranking.ts"

/** Uses of one step before the next one's turn. */
const defaultStickyUses = 3

/** Steps of a flattened combo take turns like those of the list that they stand in. */
const turnOf = ({ stepId, turn }: Candidate): string => turn ?? stepId

/**
 * The next step in turn, then the others in the order of their turns; one step keeps its turn for `stickyRoundRobinLimit` uses.
 *
 * A use is a request that was given this order. Turns go by the place in the whole list, so an unavailable step loses its turn
 * and no other turn moves.
 */
export const roundRobin: Strategic = strategy((available, config, memory, _moment, candidates) => {
  const limit = Math.max(1, config.stickyRoundRobinLimit ?? defaultStickyUses)
  const present = new Map(stepsOf(available, turnOf).map((group) => [group.stepId, group]))
  const ring = stepsOf(candidates, turnOf)
  const last = textIn(memory, "step")
  const uses = countIn(memory, "uses")
  const lastAt = last === null ? -1 : ring.findIndex(({ stepId }) => stepId === last)
  const stays = lastAt >= 0 && uses < limit && present.has(last as string)
  const start = stays ? lastAt : lastAt + 1
  const order: Array<Candidate> = []
  let first: StepGroup | null = null
  for (let i = 0; i < ring.length; i++) {
    const group = present.get((ring[(start + i) % ring.length] as StepGroup).stepId)
    if (group === undefined) continue
    first ??= group
    order.push(...group.candidates)
  }
  return { order, memory: { step: (first as StepGroup).stepId, uses: stays ? uses + 1 : 1 } }
})

const deckIn = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === "string") : []

/**
 * A uniform draw without repeats: every target once per round, then a new deck. One that is away stays in the deck for its
 * turn later in the round; behind the drawn one come the rest of the deck, then those that had their turn.
 */
export const strictRandom: Strategic = strategy((available, _config, memory, moment, candidates) => {
  const present = new Map(available.map((candidate) => [candidate.executionKey, candidate]))
  let deck = deckIn(memory?.["deck"])
  let drawn = deck.find((key) => present.has(key))
  if (drawn === undefined) {
    deck = shuffled(candidates.map(({ executionKey }) => executionKey), moment.random)
    drawn = deck.find((key) => present.has(key)) as string
  }
  const rest = deck.filter((key) => key !== drawn)
  const order = [present.get(drawn) as Candidate]
  for (const key of rest) {
    const candidate = present.get(key)
    if (candidate !== undefined) order.push(candidate)
  }
  const inDeck = new Set(deck)
  for (const candidate of available) if (!inDeck.has(candidate.executionKey)) order.push(candidate)
  return { order, memory: { deck: rest } }
})
