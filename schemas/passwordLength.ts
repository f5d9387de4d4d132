/** Characters of a new management password, wherever one is set: at the start, over HTTP, on the command line. */
export const PASSWORD_MINIMUM = 8
export const PASSWORD_MAXIMUM = 200
