/*
 * What runs in the process of one execution (Sandbox.ts starts it with `node -e`, without files, programs, threads and variables).
 *
 * It says "ready", and the gateway closes the process: no descriptor can be opened any more, so no socket either. Then it reads the job
 * `{code, input, context}` as one line, runs the handler, and writes one line: `o` and the output's JSON, or `e` and the JSON of an error's text.
 *
 * The handler runs in a context of its own, which has the language alone: no object of this process is handed in, only texts. What
 * leaks from the engine all the same (errors of `import()`) finds nothing: code from texts is off in this realm, and its globals are gone.
 */
;(() => {
  'use strict'
  const { readSync, writeSync } = require('node:fs')
  const vm = require('node:vm')
  const { Buffer, process, setImmediate } = globalThis
  const end = process.reallyExit.bind(process)
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: true, wasm: false } })
  const evaluate = (code, filename) => new vm.Script(code, { filename }).runInContext(context)
  const ofTheLanguage = new Set(evaluate('Object.getOwnPropertyNames(globalThis).join()', 'gateway').split(','))

  // Without Atomics and WebAssembly there is no way to wait without using time of the processor.
  const runner = evaluate(`(() => {
    'use strict'
    const { parse, stringify } = JSON
    const textOf = String
    for (const name of ['Atomics', 'SharedArrayBuffer', 'WebAssembly', 'console']) delete globalThis[name]
    let answer = ''
    const fail = (error) => {
      let text = 'The handler failed.'
      try {
        text = textOf(typeof error === 'object' && error !== null && 'message' in error ? error.message : error)
      } catch {}
      answer = 'e' + stringify(text)
    }
    const run = async (handler, input, context) => {
      try {
        if (typeof handler !== 'function') throw new TypeError('The default export is not a function.')
        const output = await handler(parse(input), parse(context))
        const json = stringify(output === undefined ? null : output)
        if (json === undefined) throw new TypeError('The output has no JSON.')
        answer = 'o' + json
      } catch (error) {
        fail(error)
      }
    }
    return { fail, run, taken: () => answer }
  })()`, 'gateway')

  const write = (line) => {
    const bytes = Buffer.from(`${line}\n`)
    for (let sent = 0; sent < bytes.length;) sent += writeSync(1, bytes, sent)
  }

  const readLine = () => {
    const parts = []
    const part = Buffer.allocUnsafe(65_536)
    for (;;) {
      const length = readSync(0, part)
      if (length === 0) end(2)
      parts.push(Buffer.from(part.subarray(0, length)))
      if (part[length - 1] === 10) return Buffer.concat(parts).toString()
    }
  }

  const handlerOf = async (code) => {
    if (!/^[ \t]*export[ \t]+default\b/m.test(code)) return evaluate(`(async (input, context) => {'use strict';\n${code}\n})`, 'handler')
    const module = new vm.SourceTextModule(code, { context, identifier: 'handler' })
    await module.link(() => {
      throw new Error('A handler imports nothing.')
    })
    await module.evaluate()
    return module.namespace.default
  }

  // The engine itself needs these few.
  const kept = new Set([
    '_events', '_eventsCount', '_exiting', '_fatalException', '_maxListeners', '_tickCallback', 'domain', 'emit', 'emitWarning', 'exitCode', 'nextTick', 'reallyExit',
    'version', 'versions'
  ])
  for (const name of Reflect.ownKeys(process)) {
    if (!kept.has(name)) Reflect.deleteProperty(process, name)
  }
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!ofTheLanguage.has(name)) Reflect.deleteProperty(globalThis, name)
  }

  write('ready')
  const job = JSON.parse(readLine())
  handlerOf(job.code).then((handler) => runner.run(handler, job.input, job.context), (error) => runner.fail(error))
  // There are no timers and no input: when this is called, everything that can happen has happened.
  setImmediate(() => {
    const answer = runner.taken()
    write(typeof answer === 'string' && answer !== '' ? answer : 'e"The handler never answers: it waits for what cannot happen in the sandbox."')
    end(0)
  })
})()
