/** What the configuration file declares: documents of one kind, under `<kind of record>/<name in the file>`. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** Of the documents. */
export const KIND = "file-owned"

export const RecordKind = Schema.Literals(["flag", "node", "connection", "combo", "key", "webhook"])
export type RecordKind = typeof RecordKind.Type

/** Who may change a record: the file that declares it, or operators. */
export const Owner = Schema.Literals(["file", "database"])
export type Owner = typeof Owner.Type

export const FileOwned = Schema.Struct({
  kind: RecordKind,
  /** Its name in the file. */
  name: Schema.String,
  /** Of the record. */
  id: Schema.String,
  file: Schema.String,
  /** Of what was declared, secrets included, under the master key. */
  digest: Schema.String,
  /** What the record cannot change: a connection's provider, a node's type. */
  fixed: Schema.String,
  /** Members of providerSpecificData that were declared: one that is not declared any more is taken away. */
  data: Schema.Array(Schema.String)
})
export interface FileOwned extends Schema.Schema.Type<typeof FileOwned> {}

const decode = Schema.decodeUnknownOption(FileOwned)

/** Another gateway declared it: its address stands in place of a file. */
export const isRemote = ({ file }: Pick<FileOwned, "file">): boolean => /^https?:\/\//.test(file)

export const keyOf = (kind: RecordKind, nameOrId: string): string => `${kind}/${nameOrId}`

/** The documents that can be read. */
export const read = (documents: ReadonlyMap<string, unknown>): ReadonlyArray<FileOwned> =>
  [...documents.values()].flatMap((value) => Option.toArray(decode(value)))

/** The documents by the records that they are about. */
export const byRecord = (documents: ReadonlyMap<string, unknown>): ReadonlyMap<string, FileOwned> =>
  new Map(read(documents).map((owned) => [keyOf(owned.kind, owned.id), owned]))
