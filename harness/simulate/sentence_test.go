package simulate_test

import (
	"strings"
	"testing"

	"locklab/harness/simulate"
)

func TestSentences(t *testing.T) {
	for _, m := range simulate.List() {
		for _, lock := range []string{"ticket", "mcs"} {
			t.Run(m.Name+"/"+lock, func(t *testing.T) {
				s := simulate.Accuracy(m, lock)
				t.Log(s)
				if !strings.HasSuffix(s, ".") || strings.Count(s, ". ") > 0 || strings.Contains(s, "Inf") || strings.Contains(s, "\n") {
					t.Errorf("no sentence: %s", s)
				}
				for part, want := range map[string]bool{
					"Hypothetical":     m.Hypothetical,
					"No lock measured": !m.Hypothetical && m.Evidence == simulate.LatenciesOnly,
					"fitted":           m.Evidence != simulate.LatenciesOnly,
					"No lock like mcs": m.Evidence != simulate.LatenciesOnly && lock == "mcs",
				} {
					if strings.Contains(s, part) != want {
						t.Errorf("%q in it should be %t: %s", part, want, s)
					}
				}
			})
		}
	}
}

func TestSentenceOfOther(t *testing.T) {
	m, err := simulate.Named("skylake-24")
	if err != nil {
		t.Fatal(err)
	}
	m.Occupy *= 2
	if s := simulate.Accuracy(m, "ticket"); !strings.HasPrefix(s, "No lock measured") {
		t.Error(s)
	}
}

func TestBeware(t *testing.T) {
	far := 0
	for _, r := range simulate.ValidationRecords() {
		m, err := simulate.Named(r.Machine)
		if err != nil {
			t.Fatal(err)
		}
		lock := r.Lock
		if lock == "" {
			lock = "mcs"
		}
		warned := strings.HasPrefix(simulate.Accuracy(m, lock), "Beware: ")
		if warned != (r.Typical > simulate.Beware) {
			t.Errorf("%s, %s: typical %v, warned %t", r.Machine, r.Lock, r.Typical, warned)
		}
		if warned {
			far++
		}
		if r.Points < 1 || r.From < 3 || r.To < r.From || r.Typical < 1 || r.Least > r.Most {
			t.Errorf("%+v", r)
		}
	}
	if far == 0 || far == len(simulate.ValidationRecords()) {
		t.Errorf("%d of %d with a warning", far, len(simulate.ValidationRecords()))
	}
}
