import { describe, expect, it } from "vitest"
import { partOf, parts, selfTimes } from "#bench/http/profile.ts"

const node = (id: number, functionName: string, url = "file:///x/a.ts") => ({ id, callFrame: { functionName, url, lineNumber: 4 } })

describe("profile", () => {
  it("adds up self time by function over its call sites and leaves idle time out", () => {
    const times = selfTimes({
      nodes: [node(1, "(root)", ""), node(2, "hot"), node(3, "(idle)", ""), node(4, "cold"), node(5, "hot"), node(6, "", "")],
      samples: [2, 3, 5, 4, 6, 1],
      timeDeltas: [30, 1_000, 30, 20, 20, 5]
    })
    expect(times.map(({ name, share }) => [name, share])).toEqual([["hot", 0.6], ["cold", 0.2], ["(anonymous)", 0.2]])
    expect(times[0]?.where).toBe("file:///x/a.ts:5")
    expect(times[2]?.where).toBe("native")
  })

  it("adds up parts of the program: our folders, packages, Node, native code and garbage collection", () => {
    expect(partOf("src/wire/messages/stream/tap.ts:3")).toBe("src/wire")
    expect(partOf("src/platform/server/uws/native.ts:3")).toBe("src/platform/server")
    expect(partOf("src/App.ts:3")).toBe("src")
    expect(partOf("file:///elsewhere/node_modules/@scope/name/index.js:1")).toBe("@scope/name")
    expect(partOf("node:internal/streams/writable:744")).toBe("node")
    const part = (name: string, where: string, share: number) => ({ name, where, share })
    expect(parts([
      part("a", "src/wire/sse.ts:1", 0.25), part("writev", "native", 0.125), part("(garbage collector)", "native", 0.25), part("b", "src/wire/json/json.ts:9", 0.25)
    ])).toEqual([["src/wire", 0.5], ["(garbage collector)", 0.25], ["native", 0.125]])
  })
})
