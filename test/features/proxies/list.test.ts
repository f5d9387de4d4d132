/** Lists of outbound proxies as servers say them. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { ENTRIES_MAX, type Entry, read } from "#src/features/proxies/subscriptions/list.ts"

const entry = (over: Partial<Entry> = {}): Entry => ({ type: "http", host: "p.test", port: 8080, username: null, password: null, ...over })
const only = (text: string) => {
  const { entries, skipped } = read(text, "http")
  assert.deepStrictEqual([entries.length, skipped], [1, 0], text)
  return entries[0]
}

describe("a list of proxies", () => {
  it("has one proxy a line, in the forms that vendors use", () => {
    assert.deepStrictEqual(only("p.test:8080"), entry())
    assert.deepStrictEqual(only("p.test:8080:u:p:w"), entry({ username: "u", password: "p:w" }))
    assert.deepStrictEqual(only("u:p%40@p.test:8080"), entry({ username: "u", password: "p%40" }))
    assert.deepStrictEqual(only("https://u:p%40@P.test:8080/"), entry({ type: "https", username: "u", password: "p@" }))
    assert.deepStrictEqual(only("SOCKS5h://[::1]:1080"), entry({ type: "socks5", host: "::1", port: 1_080 }))
    assert.deepStrictEqual(only("[::1]:1080:u:"), entry({ host: "::1", port: 1_080, username: "u" }))
    assert.deepStrictEqual(only("\uFEFF# free of charge\r\n\r\n  p.test:8080  \r\n"), entry())
  })

  it("is JSON where it is: texts or objects, alone or in an object", () => {
    for (const list of [["p.test:8080"], [{ host: "p.test", port: 8080 }], [{ ip: "p.test", port: "8080", protocol: "HTTP" }]]) {
      for (const name of ["proxies", "data", "items", "results"]) assert.deepStrictEqual(only(JSON.stringify({ [name]: list })), entry())
      assert.deepStrictEqual(only(JSON.stringify(list)), entry())
    }
    assert.deepStrictEqual(
      only(JSON.stringify({ results: [{ username: "u", password: "p", proxy_address: "1.2.3.4", port: 8_168, valid: true }] })), entry({ host: "1.2.3.4", port: 8_168, username: "u", password: "p" })
    )
  })

  it("leaves out and counts what is no proxy, or there twice", () => {
    const lines = ["p.test:8080", "p.test:8080", "p.test:8080:u:p", "p.test", "p.test:0", "p.test:65536", "ftp://p.test:1", "socks4://p.test:1", "vmess://abc", "a b:80", "<html>", "x".repeat(5_000) + ":80", "[nothing]:80"]
    assert.deepInclude(read(lines.join("\n"), "http"), { skipped: 11 })
    assert.deepStrictEqual(read(lines.join("\n"), "http").entries.map(({ username }) => username), [null, "u"])
    assert.deepStrictEqual(read(JSON.stringify([null, 1, [], {}, { host: "p.test" }, { type: "ftp", host: "p.test", port: 1 }, { __proto__: null, port: 1 }]), "http"), { entries: [], skipped: 7 })
    for (const text of ["", "{}", "{\"proxies\":{}}", "[", "null"]) assert.deepStrictEqual(read(text, "http").entries, [], text)
  })

  it("is read up to its bound, in time that grows with its length", () => {
    const text = Array.from({ length: 40_000 }, (_, index) => `p${index}.test:80`).join("\n")
    assert.deepStrictEqual([read(text, "http").entries.length, read(text, "http").skipped], [ENTRIES_MAX, 40_000 - ENTRIES_MAX])
    assert.deepStrictEqual(read(`${"a@".repeat(500_000)}:80`, "http"), { entries: [], skipped: 1 })
  })

  const name = Schema.String.check(Schema.isPattern(/^[a-z]{1,8}$/))
  it.prop("any credential comes back from a URL", [name, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 })), Schema.String.check(Schema.isBetweenLength(1, 30)), Schema.String.check(Schema.isBetweenLength(1, 30))], ([host, port, username, password]) => {
    if (!username.isWellFormed() || !password.isWellFormed()) return
    assert.deepStrictEqual(only(`http://${encodeURIComponent(username)}:${encodeURIComponent(password)}@${host}.test:${port}`), entry({ host: `${host}.test`, port, username, password }))
  })

  it.prop("no text makes it fail", [Schema.String, Schema.Literals(["", "[", "{\"proxies\":["])], ([text, before]) => {
    const { entries, skipped } = read(before + text, "socks5")
    assert.isAtLeast(skipped, 0)
    for (const { port } of entries) assert.isTrue(port >= 1 && port <= 65_535)
  })
})
