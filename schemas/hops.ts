/**
 * The gateways that a call has passed, as its header names them: ids of groups of nodes on one database, the first one first. It ends
 * loops of gateways that are each other's providers.
 */

export const hopsHeader = "x-gateway-hops"

/** Hops that a call may have behind it. */
export const MAX_HOPS = 3

const list = /^[\w-]{1,64}(?:\s*,\s*[\w-]{1,64})*$/

/** The ids of a header's value; null when it is not a list of ids. */
export const parse = (value: string): ReadonlyArray<string> | null => list.test(value) ? value.split(",").map((id) => id.trim()) : null

/** The value for a call that `own` makes for one that came with `value`. */
export const extend = (value: string | undefined, own: string): string => value === undefined ? own : `${value}, ${own}`
