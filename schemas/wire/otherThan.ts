/** The last member of a union by `type`: what this gateway does not know. A known type never falls into it, so a malformed one is refused by its path. */
import * as Schema from "effect/Schema"

/** An object whose `type` is none of `known`, kept whole. The known ones stand before it in a union of their own, which finds its member by the type. */
export const otherThan = (known: ReadonlyArray<string>) =>
  Schema.StructWithRest(
    Schema.Struct({
      type: Schema.String.check(Schema.makeFilter((type: string) => known.includes(type) ? "its other members do not fit its type" : undefined))
    }),
    [Schema.Record(Schema.String, Schema.Unknown)]
  )

interface Typed<Type extends string> {
  readonly fields: { readonly type: { readonly literal: Type } }
}

/** The types of such members. */
export const typesOf = <Type extends string>(members: ReadonlyArray<Typed<Type>>): ReadonlyArray<Type> => members.map(({ fields }) => fields.type.literal)
