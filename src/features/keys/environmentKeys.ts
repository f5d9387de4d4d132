/** GATEWAY_API_KEY and ROUTER_API_KEY act as permanent keys with full inference access. */
import * as Crypto from "node:crypto"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { type ApiKey, defaultPolicy } from "#schemas/records/ApiKey.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"

const keyOf = (name: string, keyHash: string): ApiKey => ({
  id: `env:${name}`, name, keyHash, keyPrefix: "", keySuffix: "", sealedKey: null, machineId: "", issuerId: null, isPermanent: true, policy: defaultPolicy,
  createdAt: "", updatedAt: "", lastUsedAt: null, revokedAt: null
})

export const layerOf = (settings: Pick<Values, "gatewayApiKey" | "routerApiKey">): Layer.Layer<EnvironmentKeys> => {
  const keys = new Map<string, ApiKey>()
  for (const [name, secret] of [["GATEWAY_API_KEY", settings.gatewayApiKey], ["ROUTER_API_KEY", settings.routerApiKey]] as const) {
    if (secret === null) continue
    const keyHash = Crypto.hash("sha256", Redacted.value(secret), "hex")
    keys.set(keyHash, keyOf(name, keyHash))
  }
  return Layer.succeed(EnvironmentKeys, keys)
}
