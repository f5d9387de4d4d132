import { resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { parseOptions } from "#bench/http/options.ts"
import { parsePeer } from "#bench/http/targets/peer.ts"

describe("options", () => {
  it("without arguments a quick run of three rounds against everything available", () => {
    expect(parseOptions([])).toMatchObject({ profile: "quick", rounds: 3, targets: null, peers: [], pin: true, report: true, json: false })
  })

  it("a smoke run is short, writes no report and lets each scenario choose its rounds", () => {
    expect(parseOptions(["--smoke"])).toMatchObject({ profile: "smoke", rounds: null, report: false })
    expect(parseOptions(["--smoke", "--rounds", "2"])).toMatchObject({ rounds: 2 })
  })

  it("a full run reads 50 MB slowly and searches the capacity", () => {
    const full = parseOptions(["--full"])
    expect(full?.sizes.megabytes).toBe(50)
    expect(full?.scenarios).toContain("capacity")
  })

  it("scenarios keep their order and unknown ones are named", () => {
    expect(parseOptions(["--scenario", "slow,request"])?.scenarios).toEqual(["request", "slow"])
    expect(() => parseOptions(["--scenario", "fast"])).toThrow(/--scenario fast: unknown; known: request/)
  })

  it("a peer is one that the bench knows how to start, or one that runs already", () => {
    expect(parseOptions(["--peer", "portkey", "--peer", "mine=http://127.0.0.1:1/v1"])).toMatchObject({ knownPeers: ["portkey"], peers: [{ name: "mine" }] })
    expect(() => parseOptions(["--peer", "other"])).toThrow(/--peer other: name=url expected/)
  })

  it("a baseline is a folder, from wherever the bench was called", () => {
    expect(parseOptions([])?.baseline).toBeNull()
    expect(parseOptions(["--baseline", "../before"])?.baseline).toBe(resolve("../before"))
  })

  it("every number is bounded", () => {
    expect(parseOptions(["--seconds", "1.5"])?.sizes.measureMs).toBe(1_500)
    for (const args of [["--rounds", "0"], ["--rounds", "21"], ["--seconds", "61"], ["--seconds", "x"], ["--streams", "5000"], ["--tick", "0"]]) {
      expect(() => parseOptions(args), args.join(" ")).toThrow(/a number from/)
    }
  })

  it("help asks for nothing, wrong combinations and unknown options are refused", () => {
    expect(parseOptions(["--help"])).toBeNull()
    expect(parseOptions(["--no-pin"])?.pin).toBe(false)
    expect(() => parseOptions(["--smoke", "--full"])).toThrow(/exclude/)
    expect(() => parseOptions(["--fast"])).toThrow()
  })

  it("a peer is a name and a loopback url, with a pid to charge and a key", () => {
    const peer = parsePeer("other=http://127.0.0.1:4000/v1,pid=42,key=sk-a=b,prefix=mock/")
    expect(peer).toMatchObject({ name: "other", pid: 42, key: "sk-a=b", modelPrefix: "mock/" })
    expect(peer.url.pathname).toBe("/v1")
    expect(parsePeer("other=http://localhost:1")).toMatchObject({ pid: null, key: null, modelPrefix: "" })
  })

  it("a peer elsewhere, without a name or with an unknown option is refused", () => {
    expect(() => parsePeer("other=http://example.com/v1")).toThrow(/loopback only/)
    expect(() => parsePeer("http://127.0.0.1:1")).toThrow(/name=url/)
    expect(() => parsePeer("other=ftp://127.0.0.1")).toThrow(/http/)
    expect(() => parsePeer("other=http://127.0.0.1:1,color=red")).toThrow(/unknown option color/)
    expect(() => parsePeer("other=http://127.0.0.1:1,pid=me")).toThrow(/pid is a number/)
  })
})
