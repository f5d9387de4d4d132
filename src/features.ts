/** Every feature. The assemblies beside this file fold the list; a new feature is a folder and a line here. */
import { a2a } from "#src/features/a2a/feature.ts"
import { auth } from "#src/features/auth/feature.ts"
import { batches } from "#src/features/batches/feature.ts"
import { cache } from "#src/features/cache/feature.ts"
import { capabilities } from "#src/features/capabilities/feature.ts"
import { combos } from "#src/features/combos/feature.ts"
import { compliance } from "#src/features/compliance/feature.ts"
import { dashboard } from "#src/features/dashboard/feature.ts"
import { evals } from "#src/features/evals/feature.ts"
import { files } from "#src/features/files/feature.ts"
import { flags } from "#src/features/flags/feature.ts"
import { health } from "#src/features/health/feature.ts"
import { keys } from "#src/features/keys/feature.ts"
import { leases } from "#src/features/leases/feature.ts"
import { limits } from "#src/features/limits/feature.ts"
import { live } from "#src/features/live/feature.ts"
import { mcp } from "#src/features/mcp/feature.ts"
import { nodes } from "#src/features/nodes/feature.ts"
import { oauth } from "#src/features/oauth/feature.ts"
import { pricing } from "#src/features/pricing/feature.ts"
import { providers } from "#src/features/providers/feature.ts"
import { quotas } from "#src/features/quotas/feature.ts"
import { resilience } from "#src/features/resilience/feature.ts"
import { responses } from "#src/features/responses/feature.ts"
import { routing } from "#src/features/routing/feature.ts"
import { search } from "#src/features/search/feature.ts"
import { sessions } from "#src/features/sessions/feature.ts"
import { settings } from "#src/features/settings/feature.ts"
import { signatures } from "#src/features/signatures/feature.ts"
import { tokens } from "#src/features/tokens/feature.ts"
import { usage } from "#src/features/usage/feature.ts"
import { webhooks } from "#src/features/webhooks/feature.ts"

export const features = [
  auth, tokens, keys, providers, oauth, combos, pricing, settings, flags, limits, usage,
  quotas, health, capabilities, nodes, resilience, routing, evals, cache, webhooks, compliance, leases, sessions, signatures, live, responses, mcp,
  a2a, files, batches, search, dashboard
] as const
