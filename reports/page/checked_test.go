package page

import (
	"bytes"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

func TestAudit(t *testing.T) {
	res := func(lock harness.Lock, workers int, change func(*harness.Result)) *harness.Result {
		r := &harness.Result{Lock: lock, Workload: harness.Workload{Workers: workers}, Ops: 1000}
		if change != nil {
			change(r)
		}
		return r
	}
	served := func(name string, traits harness.Traits) harness.Lock {
		traits.Needs = harness.KindRedis
		return harness.Lock{Name: name, Family: harness.Redis, Traits: traits}
	}
	run := &result.Run{Results: []*harness.Result{
		res(synthetic.Local("plain", harness.Spin, harness.Correct), 1, nil),
		res(synthetic.Local("plain", harness.Spin, harness.Correct), 4, nil),
		res(synthetic.Local("alone", harness.Spin, harness.Correct), 1, nil),
		res(synthetic.Local("readers", harness.Spin, harness.Correct), 4, func(r *harness.Result) { r.Workload.Reads = 90 }),
		res(synthetic.Local("empty", harness.Spin, harness.Control), 1, nil),
		res(served("fenced", harness.Traits{Fenced: true}), 2, func(r *harness.Result) {
			r.Violations = []harness.Violation{{Rule: "fencing", Count: 1}}
		}),
		res(served("permits", harness.Traits{Permits: 2}), 3, nil),
	}}
	got := make(map[string]string)
	for _, c := range audit(run) {
		got[c.Lock] = strings.Join(c.Row(), " | ")
	}
	for lock, want := range map[string][]string{
		"plain":   {"| 2 | 1 | 2", "kept", "no update of what it guards is lost"},
		"alone":   {"| 1 | 0 | 1", "kept", "liveness"},
		"readers": {"half an update"},
		"fenced":  {"broken in 1", "tokens rise", "no two hold it", "no update", "no request fails"},
		"permits": {"at most 2 hold it"},
	} {
		for _, text := range want {
			if !strings.Contains(got[lock], text) {
				t.Errorf("%s: %q lacks %q", lock, got[lock], text)
			}
		}
	}
	// A result can violate each of these rules, so the table must list each of them.
	for _, rule := range []string{oracle.Exclusion, oracle.Fencing, oracle.Liveness, oracle.Errors, oracle.Crash} {
		if !strings.Contains(got["fenced"], rule+": ") {
			t.Errorf("the table does not say what the rule %s is: %q", rule, got["fenced"])
		}
	}
	for lock, row := range got {
		if !strings.Contains(row, "crash: it does not end its process") {
			t.Errorf("%s: that it must not crash is not among %q", lock, row)
		}
	}
	for lock, bad := range map[string]string{"alone": "exclusion", "plain": "fencing", "permits": "no update", "readers": "error"} {
		if strings.Contains(got[lock], bad) {
			t.Errorf("%s is said to have been checked for %q: %q", lock, bad, got[lock])
		}
	}
	if _, listed := got["empty"]; listed || len(got) != 5 {
		t.Errorf("listed %v", got)
	}
	var page, text bytes.Buffer
	if err := WriteHTML(&page, run); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&text, run, "charts", func(string, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{page.String(), text.String()} {
		if !strings.Contains(out, "6 windows of 5 locks") || !strings.Contains(out, "tokens rise from holder to holder") {
			t.Error("the report does not say what was checked")
		}
	}
}
