/** What a restore brought back, table by table, and which backup holds what was there before. */
import type { Answer } from "../../api/contract.ts"
import { count } from "../../format/numbers.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"

type Archive = Pick<Answer<"POST /api/db-backups/import">, "contents" | "createdAt" | "rows">

export const Brought = ({ answer, before }: { readonly answer: Archive; readonly before: string }) => (
  <section className="stack-tight" aria-label="What was brought back" role="status">
    <p className="wrap">Made <Ago at={answer.createdAt} />, with {answer.contents === "all" ? "the records, the ledger and the audit log" : "the records"}. What was here is in <Copy value={before} most={28} />.</p>
    <details>
      <summary>Rows by table</summary>
      <Table label="Rows by table">
        <Head of={["Table", ">Rows"]} />
        <tbody>{Object.entries(answer.rows).map(([table, rows]) => <tr key={table}><td className="wrap">{table}</td><td className="end">{count(rows)}</td></tr>)}</tbody>
      </Table>
    </details>
  </section>
)
