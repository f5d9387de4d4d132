/** Files of two nodes with one Postgres: in one bucket, and in a directory of each node's own. */
import { randomBytes } from "node:crypto"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, converged, findServers, type Ground, ground, startCluster } from "#test/support/cluster.ts"
import * as Http from "#test/support/http.ts"
import { type S3, startS3 } from "#test/support/s3.ts"

const { missing, postgres } = await findServers()

describe.skipIf(missing !== null)(`files on two nodes${missing === null ? "" : ` (${missing})`}`, () => {
  let common: Ground
  let cluster: Cluster
  let s3: S3
  let key: string
  const client = (index: number): OpenAI => new OpenAI({ baseURL: `${cluster.nodes[index]!.url}/v1`, apiKey: key, maxRetries: 0 })

  beforeAll(async () => {
    common = await ground(postgres)
    s3 = await startS3()
    // The third keeps its bytes to itself.
    cluster = await startCluster(common, [{ environment: s3.environment }, { environment: s3.environment }, {}])
    key = (await cluster.nodes[0]!.operator.createKey("files")).key
    await converged(cluster.nodes[0]!)
  })

  afterAll(async () => {
    await cluster.close()
    await s3.close()
    await common.close()
  })

  it("a file that one node stored in a bucket is the other node's, too", async () => {
    const bytes = randomBytes(6_000_000)
    const made = await client(0).files.create({ file: await toFile(bytes, "shared.bin"), purpose: "user_data" })
    expect(await client(1).files.retrieve(made.id)).toEqual(made)
    expect(Buffer.from(await (await client(1).files.content(made.id)).arrayBuffer()).equals(bytes)).toBe(true)
    const range = await Http.send(cluster.nodes[1]!.url, { path: `/v1/files/${made.id}/content`, headers: { authorization: `Bearer ${key}`, range: "bytes=5999990-" } })
    expect([range.status, range.bytes.equals(bytes.subarray(5_999_990))]).toEqual([206, true])
    expect((await client(1).files.list()).data).toEqual([made])
    await client(1).files.delete(made.id)
    await expect(client(0).files.content(made.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    expect([s3.keys(), s3.open()]).toEqual([[], []])
  })

  it("a node that has no such bytes says so, and deletes the record", async () => {
    const made = await client(2).files.create({ file: await toFile(Buffer.from("alone"), "alone"), purpose: "user_data" })
    expect(await (await client(2).files.content(made.id)).text()).toBe("alone")
    await expect(client(0).files.content(made.id)).rejects.toMatchObject({ status: 503, code: "service_unavailable", message: expect.stringContaining("one store of files") as string })
    await client(0).files.delete(made.id)
    await expect(client(2).files.content(made.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError)
  })
})
