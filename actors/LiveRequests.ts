/** The requests that are being served, so that a shutdown can end each with an error in its own format. */
import type { RequestActor } from "#actors/Request.ts"

export class LiveRequests {
  private readonly requests = new Set<RequestActor>()

  get size(): number {
    return this.requests.size
  }

  readonly add = (request: RequestActor): void => {
    this.requests.add(request)
  }

  readonly remove = (request: RequestActor): void => {
    this.requests.delete(request)
  }

  /** Ends every live request; each settles its own ledger row. */
  readonly shutDown = (): void => {
    for (const request of [...this.requests]) request.shutDown()
  }
}
