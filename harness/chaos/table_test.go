package chaos_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"locklab/cmd/locklab/catalog"
	"locklab/harness/chaos"
)

var update = flag.Bool("update", false, "write the table of scenarios into docs/failures.md")

// TestTable keeps the table of scenarios in docs/failures.md true.
func TestTable(t *testing.T) {
	const name = "../../docs/failures.md"
	const begin, end = "<!-- scenarios: written by go test ./harness/chaos -run TestTable -update -->\n", "<!-- end of scenarios -->"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	have, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/failures.md has lost the marks around the table of scenarios")
	}
	var table strings.Builder
	table.WriteString("\n| Scenario | Question | What is done | Seen first | Tests | Locks | Tries |\n|---|---|---|---|---|---|---|\n")
	for _, s := range chaos.Suite {
		locks := 0
		for _, v := range catalog.All() {
			if v.Remote != nil && s.Applies(v.Describe()) {
				locks++
			}
		}
		var tests []string
		for _, g := range s.Tests {
			tests = append(tests, string(g))
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %d | %d |\n", s.Name, s.Question, cell(s.Fault), cell(s.Source), strings.Join(tests, ", "), locks, s.Tries)
	}
	table.WriteString("\n")
	if have == table.String() {
		return
	}
	if !*update {
		t.Fatal("the table of scenarios in docs/failures.md is out of date; write it with: go test ./harness/chaos -run TestTable -update")
	}
	if err := os.WriteFile(name, []byte(head+begin+table.String()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// cell is text for a cell of a table in Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
