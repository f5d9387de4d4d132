/**
 * What a key may ask for: its own lists, and its issuer's as they stand now. Compiled once per key and configuration. Pure.
 *
 * A blocked model is refused under each of its names, wherever a call of the key would go. A list of allowed models is asked for the
 * models themselves, too, unless an operator's combo named them: a combo that the key may ask for brings its models with it.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { compileGlob } from "#src/routing/models/glob.ts"
import { NO_THINKING_PREFIX, NO_THINKING_SHORT_PREFIX } from "#src/routing/models/resolveModel.ts"

/** What a list may name of a model. */
export type Named = Pick<Target, "provider" | "providerAlias" | "publicModel" | "model" | "thinking">

/** Where ids lead to in one configuration. */
export interface Directory {
  /** Exact aliases of models. */
  readonly aliases: ReadonlyMap<string, string>
  /** The model that this very id stands for; null when it is none, or only a pattern leads from it. */
  readonly meantBy: (id: string) => Pick<Named, "publicModel" | "thinking"> | null
  /** The catalogue of its provider lists the model: neither an operator's own, nor one of a provider node. */
  readonly isPublic: (named: Named) => boolean
}

/**
 * The id that was asked for, which may stand on a list itself. Null where an operator's combo named the model; empty where automatic
 * routing chose it, whose own id lists no model.
 */
export type RequestedAs = string | null

type Matches = (text: string) => boolean

const isGlob = (pattern: string): boolean => /[*?]/.test(pattern)

const unique = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)]

/** The ids of a variant; the model itself has none. */
const variantsOf = (thinking: Named["thinking"], names: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (thinking === null) return []
  if (thinking === "off") return names.flatMap((name) => [NO_THINKING_PREFIX + name, NO_THINKING_SHORT_PREFIX + name])
  const suffix = thinking === "on" ? "-thinking" : `-${thinking}`
  return names.map((name) => name + suffix)
}

const partsOf = ({ model, provider, providerAlias, publicModel }: Named) => {
  const slash = publicModel.indexOf("/")
  const shown = publicModel.slice(slash + 1)
  const providers = unique([publicModel.slice(0, Math.max(0, slash)), provider, providerAlias])
  const under = (name: string) => providers.map((one) => `${one}/${name}`)
  return { shown, model, under }
}

/** `<provider>/<model>` under each name of the provider. */
const fullNamesOf = (named: Named): ReadonlyArray<string> => {
  const { shown, under } = partsOf(named)
  const names = under(shown)
  return [...names, ...variantsOf(named.thinking, names)]
}

/** Those, the bare id, and the id that goes upstream. */
const everyNameOf = (named: Named): ReadonlyArray<string> => {
  const { model, shown, under } = partsOf(named)
  const names = unique([...under(shown), ...under(model), shown, model])
  return [...names, ...variantsOf(named.thinking, names)]
}

/** A list of model ids and patterns. */
class ModelList {
  private readonly patterns: ReadonlyArray<Matches>
  /** Models that an entry means by another name: an alias, a bare id, a variant. */
  private readonly meant: ReadonlyArray<Pick<Named, "publicModel" | "thinking">>

  constructor(entries: ReadonlyArray<string>, { aliases, meantBy }: Directory) {
    this.patterns = entries.map(compileGlob)
    const named = [...entries.filter((entry) => !isGlob(entry)), ...[...aliases.keys()].filter((alias) => this.matches(alias))]
    this.meant = named.flatMap((id) => meantBy(id) ?? [])
  }

  matches(id: string): boolean {
    for (let i = 0; i < this.patterns.length; i++) if (this.patterns[i]?.(id) === true) return true
    return false
  }

  has(names: ReadonlyArray<string>, { publicModel, thinking }: Named): boolean {
    return names.some((name) => this.matches(name)) ||
      this.meant.some((one) => one.publicModel === publicModel && (one.thinking === null || one.thinking === thinking))
  }
}

const refuse = (message: string): PublicError => Errors.make("insufficient_permissions", message)

type Verdict = "free" | "blocked" | "unlisted" | "other-connection"

/** The connection is on the list of connections and in one of the groups (allowedQuotas), where the key has such lists. */
export const reachesConnection = (
  { allowedConnections, allowedQuotas, connectionAccessMode }: ApiKey["policy"], { group, id }: Pick<Connection, "group" | "id">
): boolean =>
  ((connectionAccessMode !== "restricted" && allowedConnections.length === 0) || allowedConnections.includes(id)) &&
  (allowedQuotas.length === 0 || (group !== null && allowedQuotas.includes(group)))

const isRestricted = ({ policy: { allowedCombos, allowedConnections, allowedQuotas, blockedModels, connectionAccessMode, disableNonPublicModels, modelAccessMode } }: ApiKey): boolean =>
  disableNonPublicModels || modelAccessMode === "restricted" || connectionAccessMode === "restricted" ||
  blockedModels.length > 0 || allowedCombos.length > 0 || allowedConnections.length > 0 || allowedQuotas.length > 0

/** The lists of one key. */
class Lists {
  private readonly blocked: ModelList
  private readonly allowed: ModelList | null
  /** Null = models that are not public are allowed, too. */
  private readonly isPublic: Directory["isPublic"] | null
  private readonly combos: ReadonlyArray<string>
  /** Null = it may use every connection. */
  private readonly policy: ApiKey["policy"] | null
  private readonly verdicts = new WeakMap<Target, Verdict>()
  /** Whose lists they are. */
  private readonly subject: string

  constructor({ policy }: ApiKey, directory: Directory, subject: string) {
    this.blocked = new ModelList(policy.blockedModels, directory)
    this.allowed = policy.modelAccessMode === "restricted" ? new ModelList(policy.allowedModels, directory) : null
    this.isPublic = policy.disableNonPublicModels ? directory.isPublic : null
    this.combos = policy.allowedCombos
    this.policy = policy.connectionAccessMode === "restricted" || policy.allowedConnections.length > 0 || policy.allowedQuotas.length > 0 ? policy : null
    this.subject = subject
  }

  ofName(id: string): PublicError | null {
    return this.isPublic !== null || this.blocked.matches(id) || (this.allowed !== null && !this.allowed.matches(id)) ? this.notModel(id) : null
  }

  blocks(id: string): boolean {
    return this.blocked.matches(id)
  }

  ofCombo(id: string, name: string, granted: boolean): PublicError | null {
    const ids = [id, name, `combo/${name}`]
    const refusal = () => refuse(`${this.subject} may not use the combo '${name}'.`)
    if (ids.some((one) => this.blocked.matches(one))) return refusal()
    if (granted) return null
    if (this.combos.length > 0) return this.combos.includes(name) ? null : refusal()
    return this.allowed === null || ids.some((one) => this.allowed?.matches(one)) ? null : refusal()
  }

  ofModel(id: string, named: Named): PublicError | null {
    return this.blocked.matches(id) || this.meets(this.judge(named), id) ? this.notModel(id) : null
  }

  ofTarget(target: Target, asked: RequestedAs): PublicError | null {
    const verdict = this.verdictOf(target)
    if (asked !== null && this.blocked.matches(asked)) return this.notModel(asked)
    if (!this.meets(verdict, asked)) return null
    return verdict === "other-connection"
      ? refuse(`${this.subject} may not use this connection of '${target.publicModel}'.`)
      : this.notModel(asked === null || asked === "" ? target.publicModel : asked)
  }

  /** The verdict stands in the way of what was asked for. */
  private meets(verdict: Verdict, asked: RequestedAs): boolean {
    if (verdict === "unlisted") return asked !== null && this.allowed?.matches(asked) !== true
    return verdict !== "free"
  }

  private verdictOf(target: Target): Verdict {
    let verdict = this.verdicts.get(target)
    if (verdict === undefined) {
      const { connection } = target
      const foreign = this.policy !== null && (connection === null || !reachesConnection(this.policy, connection))
      verdict = this.judge(target)
      if (foreign && verdict !== "blocked") verdict = "other-connection"
      this.verdicts.set(target, verdict)
    }
    return verdict
  }

  private judge(named: Named): Verdict {
    if (this.blocked.has(everyNameOf(named), named) || this.isPublic?.(named) === false) return "blocked"
    return this.allowed === null || this.allowed.has(fullNamesOf(named), named) ? "free" : "unlisted"
  }

  private notModel(id: string): PublicError {
    return refuse(`${this.subject} may not use the model '${id}'.`)
  }
}

export class Rights {
  /** The key's, then its issuer's. */
  private readonly lists: ReadonlyArray<Lists>

  constructor(lists: ReadonlyArray<Lists>) {
    this.lists = lists
  }

  /** Why an id that leads to no model may not be asked for; null = it may. */
  ofName(id: string): PublicError | null {
    return this.first((lists) => lists.ofName(id))
  }

  /** The id itself is blocked, whatever it leads to. */
  blocks(id: string): boolean {
    return this.lists.some((lists) => lists.blocks(id))
  }

  /** Why the combo may not be asked for under this id. `granted`: another combo names it. */
  ofCombo(id: string, name: string, granted: boolean): PublicError | null {
    return this.first((lists) => lists.ofCombo(id, name, granted))
  }

  /** Why the model may not be asked for under this id, on whichever connection. */
  ofModel(id: string, named: Named): PublicError | null {
    return this.first((lists) => lists.ofModel(id, named))
  }

  /** Why no call of the key may go to the target. */
  ofTarget(target: Target, asked: RequestedAs): PublicError | null {
    for (let i = 0; i < this.lists.length; i++) {
      const refusal = this.lists[i]?.ofTarget(target, asked) ?? null
      if (refusal !== null) return refusal
    }
    return null
  }

  private first(ask: (lists: Lists) => PublicError | null): PublicError | null {
    for (const lists of this.lists) {
      const refusal = ask(lists)
      if (refusal !== null) return refusal
    }
    return null
  }
}

/** The key whose lists bind an issued key; one that is gone, or was not looked up, lets it use nothing. */
const issuerOf = (key: ApiKey): ApiKey | null =>
  key.issuerId === null ? null : key.issuer ?? { ...key, policy: { ...key.policy, blockedModels: ["*"] } }

/** Its own lists and its issuer's; null for a key that may use everything. */
export const of = (key: ApiKey, directory: Directory): Rights | null => {
  const issuer = issuerOf(key)
  const lists = [
    ...(isRestricted(key) ? [new Lists(key, directory, "This API key")] : []),
    ...(issuer !== null && isRestricted(issuer) ? [new Lists(issuer, directory, "The key that issued this API key")] : [])
  ]
  return lists.length === 0 ? null : new Rights(lists)
}

/** Equal for keys whose targets and their order are equal; "" for a key that changes nothing. */
export const printOf = (key: ApiKey): string => {
  const issuer = issuerOf(key)
  const issuers = issuer === null || !isRestricted(issuer) ? null : listsOf(issuer)
  return issuers === null && !isRestricted(key) && key.policy.preferredConnections.length === 0
    ? ""
    : JSON.stringify([listsOf(key), key.policy.preferredConnections, issuers])
}

const listsOf = ({ policy }: ApiKey) => [
  policy.modelAccessMode, policy.allowedModels, policy.blockedModels, policy.allowedCombos, policy.connectionAccessMode, policy.allowedConnections,
  policy.allowedQuotas, policy.disableNonPublicModels
]
