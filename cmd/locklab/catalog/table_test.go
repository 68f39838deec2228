package catalog

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/require"
)

var update = flag.Bool("update", false, "write the table of locks into docs/locks.md")

func TestTable(t *testing.T) {
	const name = "../../../docs/locks.md"
	const begin, end = "<!-- locks: written by go test ./cmd/locklab/catalog -update -->\n", "<!-- end of locks -->"
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), begin)
	have, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/locks.md has lost the marks around the table of locks")
	}
	var table strings.Builder
	table.WriteString("\n")
	for _, v := range All() {
		status := ""
		if v.Status != harness.Correct {
			status = fmt.Sprintf("*%s*: ", v.Status)
		}
		fmt.Fprintf(&table, "- `%s`: %s%s.\n", v.Name, status, v.Doc)
	}
	table.WriteString("\n")
	if have == table.String() {
		return
	}
	if !*update {
		t.Fatal("the table of locks in docs/locks.md is out of date; write it with: go test ./cmd/locklab/catalog -update")
	}
	require.NoError(t, os.WriteFile(name, []byte(head+begin+table.String()+end+tail), 0o644))
}
