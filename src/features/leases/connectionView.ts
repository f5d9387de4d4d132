/** What `status` shows of a connection: its operator-given name and its provider, never an account identity. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"

export interface ConnectionView {
  readonly displayName: string | null
  readonly provider: string
}

const generated = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i
const longest = 200

/** Null when the connection is not there. */
export const connectionView = (id: string, snapshot: Snapshot): ConnectionView | null => {
  const connection = snapshot.connectionById.get(id)
  if (connection === undefined) return null
  const node = snapshot.nodeById.get(connection.provider)
  const name = connection.name.trim()
  const isIdentity = name === "" || name.includes("@") || name === connection.email || name === connection.displayName || name === connection.projectId ||
    name.includes(connection.id) || (node !== undefined && name.includes(node.id)) || generated.test(name)
  return { displayName: isIdentity ? null : name.slice(0, longest), provider: shownProvider(snapshot, connection.provider) }
}
