"""Download all triples of a SPARQL endpoint.

fetch        the function `fetch`, its options and its result
queries      the CONSTRUCT and counting queries
endpoint     one request at a time, with retries; urls checks addresses
pages        an answer → one page of N-Triples, parsed in the child process for files
deadline     a timeout for a complete request
download     all pages, one after the other, with checks that none is missing
kept_pages   the pages on disk, for an interrupted download to resume
"""
