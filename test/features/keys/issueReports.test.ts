import { expect, it } from "vitest"
import * as IssueReports from "#src/features/keys/issued/issueReports.ts"
import { cpuMs } from "#test/support/late.ts"

const details = (text: string) => IssueReports.cleaned({ title: "t", details: text }).details

it.each([
  ["a eyJhbGciOiJI.eyJzdWIi.c2ln b", "a [redacted] b"], ["a eyJhbGciOiJI.eyJz b", "a [redacted] b"], ["sk-abcdefgh1234 failed", "[redacted] failed"], ["no key at all", "no key at all"]
])("a report of %j says %j", (said, told) => expect(details(said)).toBe(told))

it.each(["eyJ", "-eyJ", "eyJaaaa.", "sk-", "Bearer "])("a report full of %j is read in linear time", (part) => {
  expect(cpuMs(() => details(part.repeat(50_000 / part.length)))).toBeLessThan(200)
})
