package metric_test

import (
	"fmt"

	"locklab/harness"
	"locklab/harness/metric"
)

func ExampleMetric() {
	r := &harness.Result{Workers: []uint64{60, 20, 20}}
	if v, ok := metric.Jain.Of(r); ok {
		fmt.Printf("%.1f %s\n", v, metric.Jain.Unit)
	}
	// Output: 75.8 jain-%
}
