/*
 * What runs in the process of a sandbox (SandboxProcess.ts starts it with `node -e`, without files, programs, threads and variables).
 *
 * It says "ready", and the gateway closes the process: no descriptor can be opened any more, so no socket either. Then it reads a job
 * `{code, name, input, context}` as one line, runs the handler, and writes one line: `o` and the output's JSON, or `e` and the JSON of an
 * error's text; and so on until its input ends. A job without code has the code of the job before. `name`: the export that is called,
 * `''` asks for the names of all exported functions; without it the code is one handler.
 *
 * The handler runs in a context of its own, which has the language alone: no object of this process is handed in, only texts. What
 * leaks from the engine all the same (errors of `import()`) finds nothing and keeps nothing: code from texts is off in this realm, its
 * globals are gone, and its objects are frozen (`--frozen-intrinsics`, and here the errors' own class).
 * Each job has a fresh context, so that nothing of a job is left for the next one; between jobs the process waits, and no code runs.
 */
;(() => {
  'use strict'
  const { readSync, writeSync } = require('node:fs')
  const vm = require('node:vm')
  const { Buffer, process, setImmediate } = globalThis
  const end = process.reallyExit.bind(process)

  // Without Atomics and WebAssembly there is no way to wait without using time of the processor.
  const runnerCode = `(() => {
    'use strict'
    const { parse, stringify } = JSON
    const textOf = String
    const { hasOwn, keys } = Object
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
    const functionOf = (exported, name) => {
      const found = typeof exported === 'object' && exported !== null && hasOwn(exported, name) ? exported[name] : undefined
      return typeof found === 'function' ? found : undefined
    }
    const named = async (exported, name, input, context) => {
      try {
        const inner = exported?.default
        if (name === '') {
          const names = [exported, inner].flatMap((one) => typeof one === 'object' && one !== null ? keys(one).filter((key) => functionOf(one, key)) : [])
          answer = 'o' + stringify(names)
          return
        }
        const found = functionOf(exported, name) ?? functionOf(inner, name)
        if (found === undefined) throw new TypeError('No function ' + name + ' is exported.')
        await run(found, input, context)
      } catch (error) {
        fail(error)
      }
    }
    return { fail, named, run, taken: () => answer }
  })()`

  /** A context in which nothing was run yet. */
  const room = () => {
    const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: true, wasm: false } })
    const evaluate = (code, filename) => new vm.Script(code, { filename }).runInContext(context)
    const globals = evaluate('Object.getOwnPropertyNames(globalThis).join()', 'gateway')
    return { context, evaluate, globals, runner: evaluate(runnerCode, 'gateway') }
  }
  const first = room()

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

  const moduleOf = async ({ context }, code, what) => {
    const module = new vm.SourceTextModule(code, { context, identifier: 'handler' })
    await module.link(() => {
      throw new Error(what + ' imports nothing.')
    })
    await module.evaluate()
    return module
  }

  /** Statements of modules are none of a script, but a text of a script may look like one. */
  const isModule = (code, script) => {
    if (!/(?:^|[;}])[ \t]*export\b/m.test(code)) return false
    try {
      void new vm.Script(script)
      return false
    } catch {
      return true
    }
  }

  const handlerOf = async (own, code) => {
    const script = `(async (input, context) => {'use strict';\n${code}\n})`
    return isModule(code, script) ? (await moduleOf(own, code, 'A handler')).namespace.default : own.evaluate(script, 'handler')
  }

  /** Exports go to the runner at once: a promise of an object with a member `then` would call it. */
  const callNamed = async (own, code, { context, input, name }) => {
    const script = `(() => {'use strict'; const module = { exports: {} }; const { exports } = module;\n${code}\n; return module.exports })()`
    const exported = isModule(code, script) ? (await moduleOf(own, code, 'A plugin')).namespace : own.evaluate(script, 'plugin')
    await own.runner.named(exported, name, input, context)
  }

  // The engine itself needs these few.
  const kept = new Set([
    '_events', '_eventsCount', '_exiting', '_fatalException', '_maxListeners', '_tickCallback', 'domain', 'emit', 'emitWarning', 'exitCode', 'nextTick', 'reallyExit',
    'version', 'versions'
  ])
  const ofTheLanguage = new Set(first.globals.split(','))
  for (const name of Reflect.ownKeys(process)) {
    if (!kept.has(name)) Reflect.deleteProperty(process, name)
  }
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!ofTheLanguage.has(name)) Reflect.deleteProperty(globalThis, name)
  }

  const frozen = new Set()
  /** With all that is reached from it. */
  const freeze = (one) => {
    if ((typeof one !== 'object' && typeof one !== 'function') || one === null || frozen.has(one)) return
    frozen.add(Object.freeze(one))
    freeze(Object.getPrototypeOf(one))
    for (const key of Reflect.ownKeys(one)) {
      const { get, set, value } = Reflect.getOwnPropertyDescriptor(one, key)
      for (const inner of [get, set, value]) freeze(inner)
    }
  }

  let code = ''
  const serve = (own) => {
    const job = JSON.parse(readLine())
    if (typeof job.code === 'string') code = job.code
    const { runner } = own
    const done = job.name === undefined
      ? handlerOf(own, code).then((handler) => runner.run(handler, job.input, job.context))
      : callNamed(own, code, job)
    done.catch((error) => runner.fail(error))
    // There are no timers and no input: when this is called, everything that can happen has happened.
    setImmediate(() => {
      const answer = runner.taken()
      write(typeof answer === 'string' && answer !== '' ? answer : 'e"The handler never answers: it waits for what cannot happen in the sandbox."')
      serve(room())
    })
  }
  first.evaluate("import('')", 'gateway').catch((error) => {
    freeze(error)
    write('ready')
    serve(first)
  })
})()
