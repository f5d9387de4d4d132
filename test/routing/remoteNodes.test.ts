/** Which nodes serve sound without a flag: those on this machine and in its container networks. */
import { expect, it } from "vitest"
import { remoteRefusal } from "#src/routing/oneShotPlaces.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"

const node = { prefix: "n" } as ProviderNode
const isRefused = (origin: string, on = false) => remoteRefusal("speech", node, origin, () => on) !== null

it.each(["http://localhost:1", "http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:1", "http://172.16.0.1", "http://172.31.255.255"])("%s serves", (origin) => {
  expect(isRefused(origin)).toBe(false)
})

it.each([
  "https://example.com", "http://127.0.0.1.example.com", "http://172.16.0.1.example.com", "http://localhost.example.com", "http://172.15.0.1", "http://172.32.0.1",
  "http://10.0.0.1", "http://169.254.169.254", "no address"
])("%s serves with the flag only", (origin) => {
  expect([isRefused(origin), isRefused(origin, true)]).toEqual([true, false])
})
