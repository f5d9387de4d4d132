/** What `gateway keys` needs of a gateway: the stores themselves, or a running gateway over HTTP. */
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { PolicyInput } from "#src/features/keys/api.ts"
import type { Refusal } from "#schemas/api/Refusal.ts"
import type { Failure } from "#src/cli/Failure.ts"

/** A key as a list shows it: `key` is masked. */
export interface Listed {
  readonly id: string
  readonly name: string
  readonly key: string
  readonly scopes: ReadonlyArray<string>
  readonly isActive: boolean
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly lastUsedAt: string | null
}

export interface Created {
  readonly id: string
  readonly name: string
  /** The raw value, known here and never again. */
  readonly key: string
}

type Done<A> = Effect.Effect<A, Failure | Refusal | StoreError>

export interface KeyDesk {
  readonly create: (name: string, policy: PolicyInput) => Done<Created>
  /** One page, newest first. */
  readonly list: (limit: number, offset: number) => Done<ReadonlyArray<Listed>>
  readonly remove: (id: string) => Done<void>
}
