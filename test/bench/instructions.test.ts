import { describe, expect, it } from "vitest"
import { totalOf } from "#bench/micro/instructions/count.ts"
import { costsOf, dearest, namesOf } from "#bench/micro/instructions/functions.ts"

/** As callgrind writes it: names are said once, and what a call costs stands behind it. */
const file = `# callgrind format
positions: line
events: Ir
summary: 1690

ob=(1) /usr/bin/node
fl=(1) ???
fn=(1) Builtins_LoadIC
0 100
+2 50
* 10

fn=(2) 0x0000000010137c00
0 200
cfn=(3) 0x0000000010137d00
calls=4 0
0 1000
-3 30

fn=(3)
12 300

fn=(4) 0x0000000010137d00'2
12 1000

totals: 1690
`

describe("the instruction count", () => {
  it("a file says its sum", () => {
    expect(totalOf(file)).toBe(1690)
    expect(() => totalOf("# callgrind format")).toThrow("without its sum")
  })

  it("a function's own instructions are those outside of its calls", () => {
    expect(Object.fromEntries(costsOf(file))).toEqual({ Builtins_LoadIC: 160, "0x0000000010137c00": 230, "0x0000000010137d00": 300, "0x0000000010137d00'2": 1000 })
  })

  it("compiled code has the name that V8 gave to its address last", () => {
    const names = namesOf("10137c00 80 JS:~old file.ts:1\n10137d00 20 JS:*inner file.ts:9\n10137c00 90 JS:*plan file.ts:3\n")
    expect(dearest([costsOf(file), costsOf(file)], names, 10)).toEqual([
      { name: "JS:*inner file.ts:9", perRequest: 260 }, { name: "JS:*plan file.ts:3", perRequest: 46 }, { name: "Builtins_LoadIC", perRequest: 32 }
    ])
  })
})
