/**
 * Node's `http`. An import statement reads each export of it, and one of them loads Node's own undici: time and
 * memory of every start, for code that nothing here calls.
 */
import type * as Http from "node:http"

export const http: typeof Http = process.getBuiltinModule("node:http")
