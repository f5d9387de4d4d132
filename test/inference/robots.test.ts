import { describe, expect, it } from "vitest"
import * as Robots from "#src/platform/pages/robots.ts"
import { cpuMs } from "#test/support/late.ts"

const open = (text: string, path: string): boolean => Robots.allows(Robots.parse(text), new URL(`https://site.test${path}`))

describe("robots.txt", () => {
  it.each([
    ["", "/a", true],
    ["User-agent: *\nDisallow: /", "/a", false],
    ["User-agent: *\nDisallow:", "/a", true],
    ["user-AGENT: *\r\ndisallow: /private # inside", "/private/a", false],
    ["User-agent: *\nDisallow: /private", "/privateer", false],
    ["User-agent: *\nDisallow: /private/", "/private", true],
    ["User-agent: other\nDisallow: /", "/a", true],
    ["User-agent: other\nUser-agent: *\nDisallow: /", "/a", false],
    ["User-agent: *\nDisallow: /\n\nUser-agent: Gateway/1.0\nAllow: /", "/a", true],
    ["User-agent: gateway\nDisallow: /a\nUser-agent: *\nDisallow: /\nUser-agent: gateway\nDisallow: /b", "/b", false],
    ["User-agent: gateway\nDisallow: /a\nUser-agent: *\nDisallow: /", "/c", true],
    ["User-agent: gateway-other\nDisallow: /", "/a", true],
    ["User-agent: gateway\nUser-agent: *\nDisallow: /a", "/a", false],
    ["User-agent: *\nDisallow: /shop\nAllow: /shop/open", "/shop/open/a", true],
    ["User-agent: *\nAllow: /shop/open\nDisallow: /shop", "/shop/closed", false],
    ["User-agent: *\nDisallow: /a\nAllow: /a", "/a", true],
    ["User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", false],
    ["User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?a=1", true],
    ["User-agent: *\nDisallow: /*?q=", "/find?q=1", false],
    ["User-agent: *\nDisallow: /a*b*c", "/aXXbYYc/z", false],
    ["User-agent: *\nDisallow: /a*b*c", "/aXXcYYb", true],
    ["User-agent: *\nDisallow: /a$", "/a", false],
    ["User-agent: *\nDisallow: /a$", "/ab", true],
    ["User-agent: *\nDisallow: /caf%C3%A9", "/café", false],
    ["User-agent: *\nDisallow: /café", "/caf%c3%a9", false],
    ["User-agent: *\nDisallow: /%7Eme", "/~me/a", false],
    ["\ufeffUser-agent: *\nDisallow: /", "/a", false],
    ["User-agent: *\nDisallow: /", "/robots.txt", true],
    ["Disallow: /\nnonsense\nUser-agent *\nDisallow: /", "/a", true],
    ["User-agent: *\nCrawl-delay: 10\nSitemap: https://site.test/map\nDisallow: /a", "/a", false]
  ])("%j says of %s: %s", (text, path, expected) => {
    expect(open(text, path)).toBe(expected)
  })

  it("takes a hostile file in little time", () => {
    const text = `User-agent: *\n${`Disallow: /${"*a".repeat(40)}b\n`.repeat(6_000)}`
    expect(cpuMs(() => expect(open(text, `/${"a".repeat(4_000)}`)).toBe(true))).toBeLessThan(3_000)
  })
})
