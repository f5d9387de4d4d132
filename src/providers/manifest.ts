/**
 * The registry as a document for routers in processes of their own: what each provider's API is and which models it has. Pure.
 *
 * It holds no secrets and nothing of this installation: no OAuth clients, no names of variables, no headers of requests, no accounts.
 */
import type { Model, Provider, ProviderAuth, ProviderOAuth } from "#schemas/Provider.ts"
import type { Registry } from "./Registry.ts"

/** Grows when a member changes its meaning. */
const SCHEMA_VERSION = 1

/** Where an operator signs in; the client is the operator's own. */
type SignIn = Pick<ProviderOAuth, "authorizeUrl" | "deviceUrl" | "tokenUrl" | "scopes">

export interface ProviderEntry extends Pick<
  Provider,
  "id" | "alias" | "name" | "wireFormat" | "baseUrl" | "chatPath" | "streamPath" | "modelsPath" | "paths" | "defaults" | "regionalBaseUrls" | "authKinds" | "category" | "freeTier" | "modalities"
> {
  readonly auth: ProviderAuth
  readonly oauth?: SignIn
  readonly models: ReadonlyArray<Model>
}

export interface Manifest {
  readonly schemaVersion: number
  /** Of the gateway. */
  readonly version: string
  readonly providers: ReadonlyArray<ProviderEntry>
}

const signInOf = ({ authorizeUrl, deviceUrl, scopes, tokenUrl }: ProviderOAuth): SignIn => ({
  ...(authorizeUrl === undefined ? {} : { authorizeUrl }),
  ...(deviceUrl === undefined ? {} : { deviceUrl }),
  tokenUrl, scopes
})

const entryOf = ({ alias, auth, authKinds, baseUrl, category, chatPath, defaults, freeTier, id, modalities, models, modelsPath, name, oauth, paths, regionalBaseUrls, streamPath, wireFormat }: Provider): ProviderEntry => ({
  id, alias, name, wireFormat, baseUrl, chatPath,
  ...(streamPath === undefined ? {} : { streamPath }),
  modelsPath,
  ...(paths === undefined ? {} : { paths }),
  ...(defaults === undefined ? {} : { defaults }),
  ...(regionalBaseUrls === undefined ? {} : { regionalBaseUrls }),
  auth, authKinds,
  ...(oauth === undefined ? {} : { oauth: signInOf(oauth) }),
  category, freeTier, modalities, models
})

/** `without`: a provider that exists in this process alone. */
export const of = (registry: Registry, version: string, without: string): Manifest => ({
  schemaVersion: SCHEMA_VERSION,
  version,
  providers: registry.all.filter(({ id }) => id !== without).map(entryOf)
})
