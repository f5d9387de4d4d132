/** The whole management surface as one layer of routes over the ports. */
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import * as Dashboard from "#src/features/dashboard/Dashboard.ts"
import * as Description from "#src/features/docs/Description.ts"
import * as Docs from "#src/features/docs/Docs.ts"
import * as Hello from "#src/features/welcome/Hello.ts"
import * as Welcome from "#src/features/welcome/Welcome.ts"
import { Assembled, type Described } from "#src/management/Assembled.ts"
import * as Audit from "#src/management/audit/Audit.ts"
import * as Authentication from "#src/management/authentication/Authentication.ts"
import * as Callers from "#src/management/authentication/Callers.ts"
import * as LoginGuard from "#src/management/authentication/brake/LoginGuard.ts"
import * as Password from "#src/management/authentication/Password.ts"
import * as PasswordGate from "#src/management/authentication/PasswordGate.ts"
import * as Sessions from "#src/management/authentication/Sessions.ts"
import * as Feature from "#src/management/Feature.ts"
import * as Unrouted from "#src/management/Unrouted.ts"
import { features } from "./features.ts"
import { ManagementApi, managementRoutes } from "./ManagementApi.ts"

/** Every route of this surface with its access rule. */
export const routes = (): ReadonlyArray<RouteRule> => [...managementRoutes(), ...Docs.routes, ...Welcome.routes, ...Dashboard.routes, ...Hello.routes]

/** The management kit: what the handlers of all features share. */
const kit = PasswordGate.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Callers.layer, Password.layer)),
  Layer.provideMerge(Layer.mergeAll(Sessions.layer, LoginGuard.layer, Audit.layer)),
  Layer.provideMerge(SecureRandom.layerWebCrypto)
)

/** Which fields of which records act. */
export const acting = Feature.parts(features, "acting").flat()

const description = async () => (await import("#src/openapi/document.ts")).document()

const described = async (): Promise<Described> => ({
  groups: (await import("#src/openapi/groups.ts")).groups(), commands: await (await import("#src/cli/described.ts")).commands()
})

const assembled = Layer.sync(Assembled, () => ({ description, described, routes: managementRoutes(), acting, degradation: Feature.parts(features, "degradation").flat() }))

/** `otherRoutes`: routes of other surfaces on the same router, so that their paths answer 405 for a wrong method. */
export const layer = (otherRoutes: ReadonlyArray<RouteRule> = []) => Layer.mergeAll(
  HttpApiBuilder.layer(ManagementApi),
  Docs.layer(ManagementApi),
  Welcome.layer,
  Dashboard.layer,
  Hello.layer,
  Unrouted.layer([...routes(), ...otherRoutes])
).pipe(
  Layer.provide(Feature.merged(Feature.parts(features, "handlers"))),
  Layer.provide(Description.layer),
  Layer.provide(Authentication.layer),
  Layer.provide(kit),
  Layer.provide(assembled)
)
