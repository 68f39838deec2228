package simulate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"locklab/harness/simulate"
	"locklab/internal/require"
)

func TestMachines(t *testing.T) {
	files, err := filepath.Glob("machines/*.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		m, err := simulate.Load(file)
		require.NoError(t, err)
		require.Equal(t, file, m.Name, strings.TrimSuffix(filepath.Base(file), ".json"))
		if m.Hypothetical && m.Evidence != simulate.LatenciesOnly {
			t.Errorf("%s: no such machine was measured, and it is %s", file, m.Evidence)
		}
	}
}

func TestNamed(t *testing.T) {
	if m, err := simulate.Named("skylake-8x32"); err != nil || !m.Hypothetical || m.Caches() != 256 {
		t.Errorf("skylake-8x32: %+v, %v", m, err)
	}
	_, err := simulate.Named("skylake")
	if !errors.Is(err, simulate.ErrMachine) || !strings.Contains(err.Error(), "skylake-24, skylake-8x32") {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := simulate.Load("testdata/none.json"); !errors.Is(err, os.ErrNotExist) || !errors.Is(err, simulate.ErrMachine) {
		t.Errorf("an unknown file: %v", err)
	}
	whole, err := os.ReadFile("machines/skylake-24.json")
	long := filepath.Join(t.TempDir(), "skylake-24.json")
	require.NoError(t, errors.Join(err, os.WriteFile(long, append(bytes.Repeat([]byte(" "), 1<<20), whole...), 0o644)))
	if _, err := simulate.Load(long); !errors.Is(err, simulate.ErrMachine) {
		t.Errorf("a file of more than 1 MiB: %v", err)
	}
}

func TestBadMachines(t *testing.T) {
	good, err := os.ReadFile("machines/skylake-24.json")
	require.NoError(t, err)
	for _, c := range []struct{ name, old, new, want string }{
		{"no JSON", "{", "", "line 2"},
		{"cut off", "\n}", "\n", "line"},
		{"a list", string(good), "[]", "one object"},
		{"two", "\n}", "\n} {}", "line"},
		{"not a number", `"hit": 1.6`, `"hit": NaN`, "line"},
		{"unknown field", `"ghz"`, `"latency": 3, "ghz"`, `"latency"`},
		{"other spelling", `"ghz": 2.7`, `"GHz": 2.7`, `no machine has a field "GHz"`},
		{"missing number", `"hit": 1.6,`, ``, "hit is missing"},
		{"null", `"hit": 1.6`, `"hit": null`, "hit is null"},
		{"null in a list", `[1.6, 25, 25, 90]`, `[1.6, null, 25, 90]`, "shared is not a list of 4"},
		{"short list", `[1.6, 25, 25, 90]`, `[1.6, 25, 90]`, "shared is not a list of 4"},
		{"long list", `[1.6, 25, 25, 90]`, `[1.6, 25, 25, 90, 1]`, "shared is not a list of 4"},
		{"text for a number", `"hit": 1.6`, `"hit": "1.6"`, `is not a number`},
		{"part of a core", `"cores": 24`, `"cores": 2.5`, `cores: "2.5" is not a whole number`},
		{"negative time", `"rmw": 7.5`, `"rmw": -7.5`, "rmw: -7.5 is not above 0"},
		{"no time", `"rmw": 7.5`, `"rmw": 0`, "rmw: 0 is not above 0"},
		{"negative in a list", `[1.6, 25, 25, 90]`, `[1.6, 25, -25, 90]`, "shared[2]: -25"},
		{"endless", `"rmw": 7.5`, `"rmw": 1e300`, "rmw: 1e+300"},
		{"beyond a number", `"rmw": 7.5`, `"rmw": 1e999`, `rmw: "1e999" is not a number`},
		{"share above 1", `"jitter": 0.1`, `"jitter": 1.1`, "jitter: 1.1 is not from 0 to 0.9"},
		{"no cores", `"cores": 24`, `"cores": 0`, "cores: 0 is not from 1"},
		{"too many cores", `"sockets": 1`, `"sockets": 11`, "264 cores in all, at most 256"},
		{"cores that overflow", `"sockets": 1`, `"sockets": 4611686018427387904`, "sockets: "},
		{"no name", `"name": "skylake-24"`, `"name": ""`, "name"},
		{"a path for a name", `"name": "skylake-24"`, `"name": "../x"`, "name"},
		{"no doc", `"doc": "one Intel Skylake socket of 24 cores, such as Xeon Platinum 8160; x86-2 of lockhammer"`, `"doc": ""`, "doc is empty"},
		{"unknown evidence", `"evidence": "fitted"`, `"evidence": "sure"`, `evidence: "sure"`},
		{"no source", `"rmw": "guess`, `"RMW": "guess`, "sources: rmw has none"},
		{"empty source", `"yield": "guess: as pause"`, `"yield": " "`, "sources: yield has none"},
		{"source of nothing", `"yield": "guess`, `"heat": "guess", "yield": "guess`, `sources: "heat"`},
		{"sources that are no texts", `"ack": "guess`, `"ack": 3, "was": "guess`, "sources: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(string(good), c.old, c.new, 1)
			if text == string(good) {
				t.Fatalf("%q is not in the file", c.old)
			}
			_, err := simulate.Parse([]byte(text))
			if !errors.Is(err, simulate.ErrMachine) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), -1} {
		m := simulate.List()[0]
		m.Transfer[3] = x
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "transfer[3]") {
			t.Errorf("transfer of %v: %v", x, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, m := range simulate.List() {
		b, err := json.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte(`{"name": [1, 2`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := simulate.Parse(b)
		if err != nil {
			if !errors.Is(err, simulate.ErrMachine) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		again, err := json.Marshal(m)
		require.NoError(t, err)
		n, err := simulate.Parse(again)
		if err != nil || m.Threads() > 256*8 {
			t.Fatalf("%v\n%s", err, again)
		}
		if !reflect.DeepEqual(m, n) {
			t.Fatalf("%+v\nthen %+v", m, n)
		}
	})
}

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
					lock:               false, // a chart has one sentence for locks with the same accuracy
					"fitted":           m.Evidence != simulate.LatenciesOnly,
					"No lock like it":  m.Evidence != simulate.LatenciesOnly && lock == "mcs",
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
	require.NoError(t, err)
	m.Occupy *= 2
	if s := simulate.Accuracy(m, "ticket"); !strings.HasPrefix(s, "No lock measured") {
		t.Error(s)
	}
}

func TestBeware(t *testing.T) {
	far := 0
	for _, r := range simulate.ValidationRecords() {
		m, err := simulate.Named(r.Machine)
		require.NoError(t, err)
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
