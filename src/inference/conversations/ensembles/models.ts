/** Models that a combo names beside its steps: judges, hand-off models, shadows. They are resolved like any model id. */
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type { Route, Router } from "#src/routing/Router.ts"
import { unknownRequest } from "#src/routing/RequestMoment.ts"

/** A combo gives its targets in their order, whatever its strategy. The operator named the model, not the client: what the key blocks it may not be. */
export const routeOf = (router: Router, model: string, key: ApiKey | null, face: FormatName, now: number): Route | PublicError =>
  router.route({ model, key, face, session: null, headers: {}, prompt: unknownRequest, now, granted: true })

/** No target can be called now, which does not mean that the name is unknown. */
export const isPassing = ({ retry }: PublicError): boolean => retry === "later"
