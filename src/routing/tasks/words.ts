/**
 * Words by which kinds of tasks are known, by language. A word counts as it stands; with `*` behind it, its forms count, too. Languages that
 * do not part their words by spaces (zh) are searched as they stand.
 */

export const languages = ["en", "de", "es", "fr", "it", "pt", "zh"] as const
export type Language = typeof languages[number]

export type Lexicon = Readonly<Record<Language, ReadonlyArray<string>>>

export const coding: Lexicon = {
  en: [
    "code", "codebase", "coding", "program", "programming", "function*", "method", "bug*", "debug*", "refactor*", "compil*", "stack trace", "stacktrace", "traceback", "unit test*",
    "test suite", "regex*", "regular expression*", "sql", "query", "endpoint*", "api", "script*", "algorithm*", "pull request", "merge conflict", "commit", "class", "typescript",
    "javascript", "python", "rust", "golang", "kotlin", "java", "c++", "react", "html", "css", "dockerfile", "kubernetes", "npm", "git", "bash", "exception*", "null pointer",
    "segfault", "linter", "implement*", "repo", "repository"
  ],
  de: ["programmier*", "quellcode", "funktion*", "fehlermeldung*", "debugg*", "skript*", "algorithm*", "klasse*", "kompilier*", "datenbankabfrage*", "implementier*", "softwaretest*"],
  es: ["código", "codigo", "programa*", "función", "funcion", "depura*", "algoritmo*", "clase*", "compila*", "consulta sql", "implementa*", "refactoriza*"],
  fr: ["programme*", "fonction*", "débog*", "debog*", "déboguer", "algorithme*", "classe*", "compil*", "requête sql", "implément*", "implement*", "refactoris*"],
  it: ["codice", "programma*", "funzione", "funzioni", "algoritmo", "algoritmi", "classe", "classi", "compila*", "implementa*"],
  pt: ["código", "codigo", "programa*", "função", "funcao", "depura*", "algoritmo*", "classe*", "compila*", "consulta sql", "implementa*", "refatora*"],
  zh: ["代码", "编程", "程序", "函数", "调试", "算法", "编译", "脚本", "报错", "重构", "接口", "正则表达式"]
}

export const creative: Lexicon = {
  en: [
    "story", "stories", "poem*", "poetry", "haiku*", "novel", "lyrics", "song", "screenplay", "fiction*", "fairy tale", "limerick*", "slogan*", "tagline*", "creative", "brainstorm*",
    "character backstory", "dialogue", "metaphor*", "rhyme*", "sonnet*", "blog post", "ad copy"
  ],
  de: ["geschichte", "gedicht*", "märchen", "roman", "liedtext*", "kurzgeschichte*", "werbetext*", "kreativ*", "reim*", "drehbuch"],
  es: ["cuento*", "poema*", "poesía", "novela", "canción", "letra de", "guion", "guión", "creativ*", "eslogan", "historia corta"],
  fr: ["histoire", "poème*", "poésie", "roman", "chanson", "conte", "scénario", "créati*", "slogan*", "rime*"],
  it: ["racconto", "poesia", "romanzo", "canzone", "fiaba", "sceneggiatura", "creativ*", "slogan"],
  pt: ["história", "conto", "poema*", "poesia", "romance", "canção", "roteiro", "criativ*", "slogan*"],
  zh: ["故事", "诗", "小说", "歌词", "剧本", "创意", "童话", "文案"]
}

export const analysis: Lexicon = {
  en: [
    "analyze", "analyse", "analyzing", "analysing", "analysis", "evaluate", "evaluation", "compare", "comparison", "pros and cons", "trade-off*", "tradeoff*", "root cause", "assess",
    "investigate", "interpret", "statistic*", "correlation*", "hypothes*", "forecast*", "trend*", "prove", "proof", "derive", "theorem", "reason through", "step by step", "critique"
  ],
  de: ["analysier*", "analyse*", "vergleich*", "bewert*", "vor- und nachteile", "ursache*", "statistik*", "untersuch*", "beweis*", "auswert*", "schritt für schritt", "prognose*"],
  es: ["analiza*", "análisis", "analisis", "compara*", "evalúa", "evalua*", "ventajas y desventajas", "causa raíz", "estadístic*", "investiga", "demuestra", "paso a paso"],
  fr: ["analyse*", "compare*", "comparaison", "évalue*", "avantages et inconvénients", "cause racine", "statistique*", "démontre*", "étape par étape"],
  it: ["analizza*", "analisi", "confronta*", "valuta*", "vantaggi e svantaggi", "statistic*", "dimostra*", "passo dopo passo"],
  pt: ["analis*", "análise", "compara*", "avalia*", "vantagens e desvantagens", "causa raiz", "estatístic*", "demonstr*", "passo a passo"],
  zh: ["分析", "比较", "对比", "评估", "优缺点", "统计", "证明", "推导", "根本原因", "一步一步"]
}

export const summarization: Lexicon = {
  en: ["summarize", "summarise", "summarizing", "summarising", "summary", "summaries", "tl;dr", "tldr", "key points", "key takeaways", "condense", "recap", "in a nutshell", "abridge*"],
  de: ["zusammenfass*", "fasse zusammen", "fass zusammen", "zusammengefasst", "kurzfassung", "kernaussagen", "kernpunkte"],
  es: ["resume", "resumen", "resumir", "resúmeme", "resumeme", "sintetiza", "puntos clave", "síntesis"],
  fr: ["résume*", "résumé*", "resumer", "synthèse", "synthétise*", "points clés", "en bref"],
  it: ["riassumi", "riassunto", "riassumere", "sintesi", "sintetizza", "punti chiave"],
  pt: ["resuma", "resumir", "resumo", "sintetize", "síntese", "pontos principais", "pontos-chave"],
  zh: ["总结", "摘要", "概括", "归纳", "概要", "要点"]
}

/** Tools that agents change programs with. */
export const codingTools: ReadonlySet<string> = new Set([
  "bash", "shell", "local_shell", "exec_command", "run_shell_command", "execute_command", "edit", "multiedit", "edit_file", "write", "write_file", "write_to_file", "replace",
  "replace_in_file", "apply_patch", "apply_diff", "str_replace", "str_replace_editor", "str_replace_based_edit_tool", "notebookedit", "grep", "glob", "search_files", "read_file"
])
