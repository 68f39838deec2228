package result_test

import (
	"fmt"

	"locklab/harness/result"
)

func ExampleMetric() {
	r := &result.Result{Workers: []uint64{70, 70, 60}, BucketCounts: []uint32{60, 20, 20, 10, 50, 40}} // of 20 ms
	if v, ok := result.Jain.Of(r); ok {
		fmt.Printf("%.1f %s\n", v, result.Jain.Unit)
	}
	if v, ok := result.WindowJain.Of(r); ok {
		fmt.Printf("%.1f %s\n", v, result.WindowJain.Unit)
	}
	// Output:
	// 77.6 jain-bucket-%
	// 99.5 jain-%
}
