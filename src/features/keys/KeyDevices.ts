import * as Layer from "effect/Layer"
import { type Device, KeyDevices } from "#src/inference/ports/KeyDevices.ts"

/** Keys remembered; the one seen longest ago goes first. */
const KEYS_MAX = 10_000
/** Devices remembered per key. */
const DEVICES_MAX = 20
/** Characters of a user agent that are kept. */
const AGENT_MAX = 120

export const mask = (ip: string): string => ip.includes(".")
  ? ip.replace(/^::ffff:/i, "").replace(/\.\d+$/, ".***")
  : `${ip.split(":").slice(0, 2).join(":")}:***`

export const make = (): KeyDevices["Service"] => {
  const byKey = new Map<string, Map<string, Device>>()
  return {
    note: (keyId, ip, userAgent, now) => {
      const device = { ip: mask(ip), userAgent: userAgent.slice(0, AGENT_MAX), lastSeenAt: new Date(now).toISOString() }
      const devices = byKey.get(keyId) ?? new Map<string, Device>()
      byKey.delete(keyId)
      byKey.set(keyId, devices)
      const id = `${device.ip} ${device.userAgent}`
      devices.delete(id)
      devices.set(id, device)
      if (devices.size > DEVICES_MAX) devices.delete(devices.keys().next().value as string)
      if (byKey.size > KEYS_MAX) byKey.delete(byKey.keys().next().value as string)
    },
    list: (keyId) => Array.from(byKey.get(keyId)?.values() ?? []).reverse(),
    forget: (keyId) => {
      byKey.delete(keyId)
    }
  }
}

export const layer: Layer.Layer<KeyDevices> = Layer.sync(KeyDevices, make)
