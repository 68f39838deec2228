// Package page writes the report of a run: the verdicts of harness/judge, the charts of
// reports/chart, and the evidence for them. One document is written as HTML, as Markdown, on
// the terminal and as JSON. The HTML is one self-contained file. The page defines each
// metric, so a reader can trace a figure to its lines in results.jsonl.
package page
