/** What a start puts in place when it is missing: the management password and connections for provider keys of the environment. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import { Passwords } from "#src/management/authentication/Passwords.ts"
import type { Provider } from "#schemas/Provider.ts"
import * as ConnectionRecord from "#src/features/providers/ports/connectionRecord.ts"
import { environmentVariable } from "#src/routing/oneShotPlaces.ts"

/** Letters and digits that cannot be mistaken for one another. */
const alphabet = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
const passwordLength = 20

/** Twenty characters, about 115 bits. */
export const generatePassword = (): string => {
  let password = ""
  for (let i = 0; i < passwordLength; i++) password += alphabet[Crypto.randomInt(alphabet.length)]
  return password
}

/** Generates the first password unless one is stored or INITIAL_PASSWORD gives it; answers it once, for the banner. */
export const ensurePassword = Effect.fnUntraced(function*(initial: Redacted.Redacted<string> | null) {
  const documents = yield* DocumentStore
  const passwords = yield* Passwords
  if (initial !== null || typeof (yield* documents.get("password", "management")) === "string") return null
  const password = generatePassword()
  const hash = yield* passwords.hash(Redacted.make(password))
  // Two nodes that start at once: the one whose hash stands shows its password, the other shows none.
  const standing = yield* documents.putIfAbsent("password", "management", hash)
  return standing === hash ? Redacted.make(password) : null
})

/** Provider keys found in the usual variables become connections; a changed value updates its connection. */
export const importProviderKeys = Effect.fnUntraced(function*(
  environment: Readonly<Record<string, string | undefined>>,
  providers: ReadonlyArray<Provider>
) {
  const configuration = yield* Configuration
  const store = yield* ConnectionStore
  const now = new Date(yield* Clock.currentTimeMillis).toISOString()
  const imported: Array<string> = []
  for (const provider of providers) {
    const name = provider.env.find((variable) => (environment[variable] ?? "") !== "")
    if (name === undefined || provider.auth.type === "none") continue
    const secret = Redacted.make((environment[name] as string).trim())
    const known = configuration.current().connections.find((c) =>
      c.provider === provider.id && c.providerSpecificData[environmentVariable] === name)
    if (known === undefined) {
      yield* store.insert(ConnectionRecord.make({
        id: Crypto.randomUUID(),
        provider: provider.id,
        name,
        apiKey: Redacted.value(secret),
        priority: 1,
        globalPriority: null,
        defaultModel: null,
        testStatus: undefined,
        providerSpecificData: { [environmentVariable]: name },
        now
      }))
    } else if (known.apiKey === null || Redacted.value(known.apiKey) !== Redacted.value(secret)) {
      yield* store.replace({ ...known, apiKey: secret, testStatus: "unknown", updatedAt: now })
    } else continue
    imported.push(`${provider.id} (${name})`)
  }
  if (imported.length > 0) yield* configuration.reload
  return imported
})
