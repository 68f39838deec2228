package lockbench

import (
	"flag"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/internal/backend"
)

// Shorter benchmarks are no measurements, and not worth a long warm-up.
const (
	longEnough = 500 * time.Millisecond
	manyEnough = 1000
	warmMost   = 30 * time.Second
)

// warmUp returns a function that warms up the servers at at, once, before the first
// benchmark that needs them. It returns nil if they do not get faster, or are the user's.
func warmUp(in func() *measure.Instruments, suite []*harness.Variant, at harness.Endpoint) func(*testing.B) {
	if !measure.WarmsUp(at.Kind) || backend.UsersServer(at.Kind) != "" || !long(flag.Lookup("test.benchtime").Value.String()) {
		return nil
	}
	var once sync.Once
	return func(b *testing.B) {
		once.Do(func() {
			w, err := measure.WarmUp(b.Context(), in(), loads(suite, at.Kind), at, warmMost)
			if err != nil {
				b.Fatal(err)
			}
			b.Logf("%s was warmed up for %v", at.Kind, w.Took.Round(time.Second))
		})
	}
}

func loads(suite []*harness.Variant, kind string) (cases []measure.Case) {
	for _, v := range suite {
		if v.Traits.Needs == kind && v.Unavailable == "" {
			all := workloads(v, runtime.GOMAXPROCS(0))
			cases = append(cases, measure.Case{Lock: v, Workload: all[len(all)-2]}) // the most workers of a closed loop
		}
	}
	return cases
}

func long(benchtime string) bool {
	if n, ok := strings.CutSuffix(benchtime, "x"); ok {
		count, err := strconv.Atoi(n)
		return err == nil && count >= manyEnough
	}
	d, err := time.ParseDuration(benchtime)
	return err == nil && d >= longEnough
}
