/** Bounds of plugins, for the API and what stands behind it. */

/** Characters of a main file, and bytes of one in a folder. */
export const CODE_MAX = 256 * 1_024
/** Plugins of a gateway. */
export const PLUGINS_MAX = 50
/** Active ones: each has a sandbox on every node, of 256 MB at most. */
export const ACTIVE_MAX = 8
