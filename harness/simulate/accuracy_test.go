//go:build systematic && simulate

package simulate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"locklab/harness/simulate"
)

func TestAccuracy(t *testing.T) {
	exact(t)
	all, err := outcomes()
	if err != nil {
		t.Fatal(err)
	}
	var want []simulate.ValidationRecord
	for _, s := range simulate.All {
		of := all[s.Machine]
		counted := slices.DeleteFunc(slices.Clone(of), func(o simulate.Outcome) bool { return simulate.TwinOf(o.Lock).Loose })
		want = append(want, record(s.Machine, "", counted))
		for _, lock := range []string{"tas-xchg", "ttas", "ticket"} {
			like := slices.DeleteFunc(slices.Clone(counted), func(o simulate.Outcome) bool { return simulate.TwinOf(o.Lock).Like != lock })
			if len(like) > 0 {
				want = append(want, record(s.Machine, lock, like))
			}
		}
	}
	if slices.Equal(want, simulate.ValidationRecords()) {
		return
	}
	if !*update {
		t.Errorf("accuracy.json is not what the model comes to: go test -tags systematic,simulate ./harness/simulate -update\nhave %v\nwant %v", simulate.ValidationRecords(), want)
		return
	}
	var b bytes.Buffer
	b.WriteString("[\n")
	for i, r := range want {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		if i < len(want)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
	if err := os.WriteFile("accuracy.json", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func record(machine, lock string, all []simulate.Outcome) simulate.ValidationRecord {
	round := func(x float64) float64 { return math.Round(100*x) / 100 }
	r := simulate.ValidationRecord{Machine: machine, Lock: lock, Points: len(all), From: math.MaxInt, Least: math.Inf(1)}
	for _, o := range all {
		ratio := o.Model / o.NS
		r.From, r.To = min(r.From, o.Workers), max(r.To, o.Workers)
		r.Least, r.Most = min(r.Least, round(ratio)), max(r.Most, round(ratio))
	}
	r.Typical = round(simulate.Summarize(all).Typical)
	return r
}
