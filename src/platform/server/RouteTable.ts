/**
 * The direct routes by method and path. Fixed paths are found by one map look-up; patterns (`:name` = one segment, a last `*` =
 * everything that is left) are tried only when no fixed path fits. Paths are compared as the client sent them.
 */
import type { DirectRoute } from "./Exchange.ts"

interface Pattern {
  readonly regexp: RegExp
  readonly source: string
  readonly methods: Map<string, DirectRoute>
}

export class RouteTable {
  private readonly fixed = new Map<string, Map<string, DirectRoute>>()
  private readonly patterns: Array<Pattern> = []

  add(method: string, path: string, route: DirectRoute): void {
    this.methodsOf(path).set(method.toUpperCase(), route)
  }

  find(method: string, path: string): DirectRoute | undefined {
    const methods = this.fixed.get(path)
    if (methods !== undefined) {
      const route = methods.get(method)
      if (route !== undefined) return route
    }
    for (const pattern of this.patterns) {
      const route = pattern.methods.get(method)
      if (route !== undefined && pattern.regexp.test(path)) return route
    }
    return undefined
  }

  private methodsOf(path: string): Map<string, DirectRoute> {
    if (!/[:*]/.test(path)) {
      let methods = this.fixed.get(path)
      if (methods === undefined) {
        methods = new Map()
        this.fixed.set(path, methods)
      }
      return methods
    }
    let pattern = this.patterns.find(({ source }) => source === path)
    if (pattern === undefined) {
      pattern = { source: path, regexp: compile(path), methods: new Map() }
      this.patterns.push(pattern)
    }
    return pattern.methods
  }
}

/** Literal segments byte for byte; a parameter is one segment, so no slash, and no matrix or fragment mark. */
const compile = (path: string): RegExp =>
  new RegExp(`^${path.split("/").map((part) =>
    part === "*" ? ".+" : part.startsWith(":") ? "[^/;#\\\\]+" : part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
  ).join("/")}$`)
