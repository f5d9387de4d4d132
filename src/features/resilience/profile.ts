/** Which thresholds apply to a target: a server on this machine, a sign-in, or a key. Pure. */
import type { Target } from "#actors/request/ports/Target.ts"
import type { ProfileName } from "#schemas/records/ResilienceSettings.ts"
import { builtin } from "#src/providers/Registry.ts"

const loopback = /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

export const profileOf = (target: Pick<Target, "provider" | "origin" | "connection">): ProfileName => {
  const category = builtin.byId.get(target.provider)?.category
  if (category === "local" || loopback.test(target.origin)) return "local"
  const authType = target.connection?.authType
  return authType === "oauth" || (authType === undefined && category === "oauth") ? "oauth" : "apikey"
}
