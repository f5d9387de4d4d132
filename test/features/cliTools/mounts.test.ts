/** Which directories of a container are the host's. */
import { describe, expect, it } from "vitest"
import { isHosts } from "#src/features/cliTools/mounts.ts"

const text = [
  "620 512 0:58 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/l",
  "621 620 0:61 / /proc rw,nosuid - proc proc rw",
  "630 620 254:1 /home/u/.codex /data/.codex rw,relatime - ext4 /dev/vda1 rw",
  "631 620 254:1 /var/lib/docker/volumes/gw/_data /data rw,relatime - ext4 /dev/vda1 rw",
  "632 620 254:1 /home/u/my\\040files /data/my\\040files rw - ext4 /dev/vda1 rw",
  "633 620 0:70 / /data/.qwen rw - tmpfs tmpfs rw",
  "634 620 0:71 / /data/.pi rw - virtiofs host rw",
  "635 620 254:1 /var/lib/kubelet/pods/a/volumes/kubernetes.io~empty-dir/x /data/.gemini rw - ext4 /dev/vda1 rw",
  "no mount at all", ""
].join("\n")

describe("a directory of a container", () => {
  it.each([
    ["/data/.codex", true], ["/data/.codex/deep", true], ["/data/my files", true], ["/data/.pi/agent", true],
    ["/data", false], ["/data/.codexes", false], ["/data/.qwen", false], ["/data/.gemini", false], ["/home/u", false], ["/", false]
  ])("%s is the host's: %s", (directory, expected) => {
    expect(isHosts(text, directory)).toBe(expected)
  })

  it("is not the host's when nothing is known, or a later mount hides it", () => {
    expect(isHosts("", "/data/.codex")).toBe(false)
    expect(isHosts(`${text}\n640 620 0:80 / /data/.codex rw - tmpfs tmpfs rw`, "/data/.codex")).toBe(false)
  })
})
