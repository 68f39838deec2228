//go:build systematic && simulate

package simulate

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestDuel(t *testing.T) {
	var out bytes.Buffer
	m := plain()
	for _, tc := range []struct {
		smt, a, b int
		want      string
	}{
		{1, 0, 1, "Contender 0 wins: the directory grants the line to one contender at a time, first come"},
		{1, 4, 0, "Contender 0 wins: the directory grants the line to one contender at a time, and of two in one instant the request from its own socket"},
		{2, 0, 1, "Contender 0 wins: both have the line in one cache"},
	} {
		m.SMT = tc.smt
		var text bytes.Buffer
		if err := Duel(m, tc.a, tc.b, 1, &text); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, tc.want) {
			t.Errorf("threads %d and %d: %q, want %q", tc.a, tc.b, last, tc.want)
		}
		fmt.Fprintf(&out, "threads %d and %d, %d a core\n%s\n", tc.a, tc.b, tc.smt, text.String())
	}
	const golden = "testdata/duel.golden"
	if updating() {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("differs from %s (write it anew with -update):\n%s", golden, out.Bytes())
	}
}

func TestDuelErrors(t *testing.T) {
	for _, pair := range [][2]int{{0, 0}, {-1, 0}, {0, 8}} {
		if err := Duel(plain(), pair[0], pair[1], 1, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "want two of 0 to 7") {
			t.Errorf("%v: error %v", pair, err)
		}
	}
	if err := Duel(plain(), 0, 1, 1, full{}); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
