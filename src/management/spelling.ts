/**
 * Enum-like values are taken in any case: before a value is decoded, its words are written as its schema writes them, so that what
 * is stored and answered is the documented spelling. Made once per schema; pure.
 */
import * as Predicate from "effect/Predicate"
import * as SchemaAST from "effect/SchemaAST"

export type Respell = (value: unknown) => unknown

const ofWords = (words: ReadonlyArray<string>): Respell => {
  const byLower = new Map(words.map((word) => [word.toLowerCase(), word]))
  return (value) => typeof value === "string" ? byLower.get(value.toLowerCase()) ?? value : value
}

const ofObject = (ast: SchemaAST.Objects): Respell | null => {
  const named = new Map<string, Respell>()
  for (const { name, type } of ast.propertySignatures) {
    const respell = make(type)
    if (respell !== null) named.set(String(name), respell)
  }
  const others = ast.indexSignatures.map(({ type }) => make(type)).find((respell) => respell !== null) ?? null
  if (named.size === 0 && others === null) return null
  return (value) => {
    if (!Predicate.isReadonlyObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, (named.get(name) ?? others)?.(member) ?? member]))
  }
}

const ofList = (ast: SchemaAST.Arrays): Respell | null => {
  const respell = [...ast.elements, ...ast.rest].map(make).find((one) => one !== null) ?? null
  return respell === null ? null : (value) => Array.isArray(value) ? value.map((item) => respell(item)) : value
}

/** A union of words is an enum unless it takes any other text, too; the other members are respelled one after another. */
const ofUnion = (ast: SchemaAST.Union): Respell | null => {
  const words = ast.types.flatMap((type) => type._tag === "Literal" && typeof type.literal === "string" ? [type.literal] : [])
  const takesAnyText = ast.types.some((type) => type._tag === "String")
  const members = ast.types.map((type) => type._tag === "Literal" ? null : make(type)).filter((respell) => respell !== null)
  const all = [...(words.length === 0 || takesAnyText ? [] : [ofWords(words)]), ...members]
  return all.length === 0 ? null : (value) => all.reduce((spelled, respell) => respell(spelled), value)
}

/** Null when nothing in the schema is enum-like. */
export const make = (ast: SchemaAST.AST): Respell | null => {
  switch (ast._tag) {
    case "Literal":
      return typeof ast.literal === "string" ? ofWords([ast.literal]) : null
    case "Union":
      return ofUnion(ast)
    case "Objects":
      return ofObject(ast)
    case "Arrays":
      return ofList(ast)
    default:
      return null
  }
}
