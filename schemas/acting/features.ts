/** Features that the interface reserves fields, flags and paths for, and that this release does not have. */
export interface ActingFeature {
  readonly title: string
  /** What a caller meets today, in one or two sentences. */
  readonly today: string
  /** Reserved paths of the feature; they answer 404 until it is built. */
  readonly paths: ReadonlyArray<string>
}

const feature = (title: string, today: string, ...paths: ReadonlyArray<string>): ActingFeature => ({ title, today, paths })

export const features = {
  agents: feature("Profiles of CLI tools", "Coding agents on the gateway's machine are found and configured when they are asked for; no profile is written by itself."),
  backgroundTasks: feature("Switches of background work", "Sweeps run in the gateway's processes; GATEWAY_DISABLE_BACKGROUND_SERVICES stops them."),
  compression: feature("Further engines of compression", "No engine asks a model, keeps a share of the window free (headroom) or stores large blocks for a later question (ccr)."),
  dashboard: feature("Health checks in lists of the dashboard", "No list of the dashboard holds health checks, so none can be hidden."),
  discovery: feature("Rankings and feeds of catalogues", "No public ranking is read, and lists of models are read from provider nodes alone."),
  interception: feature("Proxies of hosted tools", "Pages leave by what calls of the provider that reads them leave by; a rule names no proxy of its own."),
  logging: feature("Bodies in logs", "Bodies of requests are never in the log; the setting callLogBodies keeps them beside their calls."),
  mediaBridges: feature(
    "Further bridges between kinds of media", "Pictures are described for models that cannot take them (visionBridgeEnabled). Sounds and videos are not.", "/api/modality-bridge"
  ),
  memory: feature("Other stores of memory", "The vectors of entries are in the gateway's own database."),
  pluginExtras: feature("Permissions, pages and further hooks of plugins", "The sandbox of a plugin has no network, files, variables and programs. Its hooks do not see streams, and it brings no skills, pages or widgets."),
  privateModels: feature("Further names of models", "A model has the ids of its provider, its alias and the operator's aliases; no further names are made for clients."),
  proxies: feature("Pools of outbound proxies", "An assignment names one proxy, and addresses behind proxies are not observed."),
  trafficInterception: feature("Traffic interception", "No intercepting proxy is started."),
  upkeep: feature("Further upkeep over the API", "Calls are rows of the ledger, as the usage history is, and are never summed up."),
  vendorClients: feature("Behaviour of single vendors and clients", "No traffic is shaped after a vendor's own client, and no free tier is rotated."),
  skillMarkets: feature("Skills within conversations", "A skill is run when it is asked for, without the network.")
} as const satisfies Readonly<Record<string, ActingFeature>>

export type FeatureName = keyof typeof features
export const featureNames = Object.keys(features) as ReadonlyArray<FeatureName>
