/** The token of the command line on the same machine: a MAC of the machine id under the master secret. */
import type { Secrets } from "#actors/ports/Secrets.ts"

export const LOCAL_TOKEN_HEADER = "x-gateway-cli-token"

export const localToken = (secrets: Secrets["Service"], machineId: string): string => secrets.mac("local-cli", machineId)
