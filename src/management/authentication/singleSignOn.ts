/** Single sign-on by its settings: the issuer and client, the subjects that are admitted, and whether the password may be off. Pure. */
import type { FieldIssue } from "#schemas/api/Refusal.ts"

type StoredSettings = ReadonlyMap<string, unknown>

/** The gateway as a client of the operator's OpenID Connect issuer. */
export interface Client {
  readonly issuer: string
  readonly clientId: string
}

/** The person as the issuer names them. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
}

/** The flag that switches the password off. */
export const FLAG = "GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN"

/** Setting that says with which issuer and client a sign-in has worked; the gateway writes it itself. */
export const PROOF = "oidcProof"

const textOf = (settings: StoredSettings, name: string): string | null => {
  const value = settings.get(name)
  return typeof value === "string" && value !== "" ? value : null
}

/** Null while single sign-on is off, or its issuer or client id is missing. */
export const clientIn = (settings: StoredSettings): Client | null => {
  const issuer = textOf(settings, "oidcIssuer")
  const clientId = textOf(settings, "oidcClientId")
  return settings.get("oidcEnabled") !== true || issuer === null || clientId === null ? null : { issuer, clientId }
}

const subjectsIn = (settings: StoredSettings): ReadonlyArray<unknown> => {
  const subjects = settings.get("oidcAllowedSubjects")
  return Array.isArray(subjects) ? subjects : []
}

/** Whether this person may be signed in now. An empty list admits no one. */
export const admits = (settings: StoredSettings, { issuer, subject }: Identity): boolean =>
  clientIn(settings)?.issuer === issuer && subjectsIn(settings).includes(subject)

/** What the proof of a sign-in is, once it has worked with this client. */
export const proofOf = ({ clientId, issuer }: Client): Client => ({ issuer, clientId })

export const isProven = (settings: StoredSettings, { clientId, issuer }: Client): boolean => {
  const proof = settings.get(PROOF) as Partial<Client> | null | undefined
  return proof?.issuer === issuer && proof.clientId === clientId
}

/** What is missing before the password may be off, as a sentence; null = nothing. */
export const missingIn = (settings: StoredSettings): string | null => {
  const client = clientIn(settings)
  if (client === null) return "Single sign-on is not configured: set oidcEnabled, oidcIssuer and oidcClientId"
  if (subjectsIn(settings).length === 0) return "oidcAllowedSubjects is empty, so single sign-on admits no one"
  return isProven(settings, client) ? null : "Single sign-on has signed no one in yet with this issuer and client: sign in by it once"
}

/** The flag alone does not switch the password off: a gateway whose single sign-on cannot work keeps its other way in. */
export const isPasswordOff = (settings: StoredSettings, isFlagOn: boolean): boolean => isFlagOn && missingIn(settings) === null

/** Settings of single sign-on that decide about who gets in. */
const names: ReadonlyArray<string> = ["oidcEnabled", "oidcIssuer", "oidcClientId", "oidcAllowedSubjects"]

/** Why a change of settings is not made. `changed`: the names that it gives. */
export const issuesOf = (before: StoredSettings, after: StoredSettings, changed: ReadonlyArray<string>, isFlagOn: boolean): ReadonlyArray<FieldIssue> => {
  const own = changed.filter((name) => names.includes(name))
  const [first] = own
  if (first === undefined) return []
  if (after.get("oidcEnabled") === true) {
    const absent = ["oidcIssuer", "oidcClientId"].filter((name) => textOf(after, name) === null)
    if (absent.length > 0) return absent.map((field) => ({ field, message: "Needed while oidcEnabled is true" }))
  }
  const missing = isPasswordOff(before, isFlagOn) ? missingIn(after) : null
  return missing === null ? [] : [{ field: first, message: `${missing}. The password is off, so no way in would be left: clear the flag ${FLAG} first` }]
}
