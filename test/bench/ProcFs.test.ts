import { describe, expect, it } from "vitest"
import {
  cpuNanoseconds, parseBusyMs, parseCpuList, parseOpenFiles, parsePeak, parseSchedstat, parseStatm, peakResidentKb, residentKb, tree, treeResidentKb
} from "#bench/http/servers/ProcFs.ts"

describe("ProcFs", () => {
  it("schedstat answers the nanoseconds on a CPU, not the time spent waiting", () => {
    expect(parseSchedstat("1734567890 99938 12\n")).toBe(1_734_567_890)
  })

  it("a schedstat of another shape is an error, never a zero", () => {
    expect(() => parseSchedstat("")).toThrow(/three numbers/)
    expect(() => parseSchedstat("1 2\n")).toThrow(/three numbers/)
    expect(() => parseSchedstat("a b c\n")).toThrow(/three numbers/)
  })

  it("statm answers resident kB", () => {
    expect(parseStatm("5000 250 80 1 0 300 0\n")).toBe(1_000)
    expect(() => parseStatm("5000")).toThrow(/page counts/)
  })

  it("status answers the most kB that were resident", () => {
    expect(parsePeak("Name:\tnode\nVmPeak:\t 9000 kB\nVmHWM:\t  4321 kB\nVmRSS:\t 4000 kB\n")).toBe(4_321)
    expect(parsePeak("Name:\tnode\n")).toBe(0)
  })

  it("limits answer the hard limit of open files", () => {
    const text = (hard: string) => `Limit                     Soft Limit           Hard Limit           Units     \nMax processes             63204                63204                processes \nMax open files            1024                 ${hard}               files     \n`
    expect(parseOpenFiles(text("20000"))).toBe(20_000)
    expect(parseOpenFiles(text("unlimited"))).toBe(Infinity)
    expect(() => parseOpenFiles("Limit Soft Limit\n")).toThrow(/Max open files/)
  })

  it("a CPU list may hold ranges and single numbers", () => {
    expect(parseCpuList("0-2,5,8-9\n")).toEqual([0, 1, 2, 5, 8, 9])
    expect(parseCpuList("3")).toEqual([3])
    expect(parseCpuList("")).toEqual([])
  })

  it("busy time leaves out idle and waiting for disks", () => {
    expect(parseBusyMs("cpu  10 1 20 1000 500 2 3 4 0 0\ncpu0 1 1 1\n")).toBe(400)
    expect(() => parseBusyMs("intr 1")).toThrow(/cpu line/)
  })

  it.skipIf(process.platform !== "linux")("this process has used CPU and memory, and its tree contains it", () => {
    expect(tree(process.pid)[0]).toBe(process.pid)
    expect(cpuNanoseconds(process.pid)).toBeGreaterThan(1_000_000)
    expect(treeResidentKb(process.pid)).toBeGreaterThanOrEqual(10_000)
    expect(peakResidentKb(process.pid)).toBeGreaterThanOrEqual(residentKb(process.pid) / 2)
  })

  it("a process that is gone has no memory and no CPU", () => {
    expect(residentKb(4_194_304)).toBe(0)
    expect(peakResidentKb(4_194_304)).toBe(0)
    expect(cpuNanoseconds(4_194_304)).toBe(0)
  })
})
