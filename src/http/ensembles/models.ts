/** Models that a combo names beside its steps: judges, hand-off models, shadows. They are resolved like any model id. */
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type { Route, Router } from "#src/routing/Router.ts"
import { unknownRequest } from "#src/routing/Router.ts"

/** The operator named the model, not the client: the key's own model lists do not apply, its connections do. */
const forAnyModel = (key: ApiKey | null): ApiKey | null => key === null ? null : {
  ...key, policy: { ...key.policy, modelAccessMode: "all", allowedModels: [], blockedModels: [], allowedCombos: [] }
}

/** A combo gives its targets in their order, whatever its strategy. */
export const routeOf = (router: Router, model: string, key: ApiKey | null, face: FormatName, now: number): Route | PublicError =>
  router.route({ model, key: forAnyModel(key), face, session: null, headers: {}, about: () => unknownRequest, now })

/** Nobody can be asked just now, which says nothing about the name. */
export const isPassing = ({ status }: PublicError): boolean => status === 429 || status >= 500
