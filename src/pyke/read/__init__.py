"""Read RDF from files, Python objects and SPARQL endpoints.

A document passes through these modules:

    find        paths → documents with a syntax and a compression
    parse       document → blocks of complete lines of N-Triples or N-Quads
      lines       cut a stream into blocks of complete lines
      columns     CSV and TSV rows → N-Triples lines
      child       other syntaxes, parsed in a child process
      sandbox     the program of the child, with its checks of RDF/XML and JSON-LD
      oxigraph    the parser
    tokenize    blocks → batches of statements over term ids, with several threads
      _kernels    the compiled tokenizer, and _scanners and _characters that it calls
      problems    stop at an invalid line, or skip and count it

`objects` writes Python objects as lines and passes them to `tokenize`.
`sparql` downloads an endpoint's triples to a file.
"""
