/**
 * What one request's own failures have brought about: it never shuts the request out of another model, so that a combo falls back
 * between the models of one credential. Made with the first failure, gone with the request.
 */
import type { Target } from "#actors/request/ports/Target.ts"

export class OwnFailures {
  private readonly failures: Array<Target> = []
  private readonly rests = new Set<object>()
  /** Providers whose breaker has counted it. */
  private readonly counted = new Set<string>()

  /** Answers whether it is the request's first failure at this provider that a breaker may count. */
  failed(target: Target, counts: boolean): boolean {
    const first = counts && !this.counted.has(target.provider)
    if (first) this.counted.add(target.provider)
    this.failures.push(target)
    return first
  }

  /** A failure of this request began a rest, or made it longer; `rest` is known by its identity. */
  began(rest: object): void {
    this.rests.add(rest)
  }

  /** This request failed with the model on the target's connection. */
  has(target: Target, model: string): boolean {
    return this.failures.some((failed) => failed.model === model && isSamePlace(failed, target))
  }

  /** The provider's breaker opened while this request failed there with other models. */
  excusesBreaker({ model, provider }: Target): boolean {
    return this.counted.has(provider) && !this.failures.some((failed) => failed.provider === provider && failed.model === model)
  }

  /** A rest of the whole provider is this request's doing as well: it goes on to other accounts and models there. */
  excusesProvider({ provider }: Target): boolean {
    return this.counted.has(provider)
  }

  /** The rest of the target's connection is this request's doing, or a guess after failures of which some were its own. */
  excusesRest(target: Target, rest: { readonly guessed: boolean }): boolean {
    if (this.has(target, target.model)) return false
    return this.rests.has(rest) || (rest.guessed && this.failures.some((failed) => isSamePlace(failed, target)))
  }
}

const isSamePlace = (one: Target, other: Target): boolean => one.provider === other.provider && one.connection?.id === other.connection?.id
