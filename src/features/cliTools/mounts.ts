/** Whether a directory inside a container is one of the host. Pure; the text is proc_pid_mountinfo(5). */

interface Mount {
  /** Where it lies in its own file system. */
  readonly root: string
  readonly point: string
  readonly type: string
}

/** Space, tab, line break and backslash are written as octal numbers. */
const unescaped = (field: string): string => field.replaceAll(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

const mountsOf = (text: string): ReadonlyArray<Mount> => text.split("\n").flatMap((line) => {
  const [before = "", after = ""] = line.split(" - ", 2)
  const [, , , root, point] = before.split(" ")
  return root === undefined || point === undefined ? [] : [{ root: unescaped(root), point: unescaped(point), type: after.split(" ")[0] ?? "" }]
})

/** File systems that end with the container. */
const passing: ReadonlySet<string> = new Set(["overlay", "aufs", "tmpfs", "ramfs", "proc", "sysfs", "devtmpfs"])
/** Where engines keep the volumes that they manage: they outlive a container, and are no directory that the host's user works in. */
const managed = /\/volumes\/[^/]+\/_data(?:\/|$)|\/kubernetes\.io~/

const holds = (point: string, directory: string): boolean => point === "/" || directory === point || directory.startsWith(`${point}/`)

/** `directory`: absolute, without symbolic links. */
export const isHosts = (mountInfo: string, directory: string): boolean => {
  // Of two mounts at one point, the later one hides the other.
  const mount = mountsOf(mountInfo).filter(({ point }) => holds(point, directory)).reduce<Mount | null>((best, one) => best === null || one.point.length >= best.point.length ? one : best, null)
  return mount !== null && mount.point !== "/" && !passing.has(mount.type) && !managed.test(mount.root)
}
