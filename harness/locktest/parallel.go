package locktest

import (
	"flag"
	"strconv"
)

// Parallel lets so many of the tests that call t.Parallel run beside each other,
// unless the flag -test.parallel says how many. A package whose tests wait for
// servers and timeouts most of the time calls it in TestMain: the default, one for
// each processor, is for tests that compute. Under the race detector it is half as
// many. It parses the flags.
func Parallel(tests int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if raceDetector {
		tests = (tests + 1) / 2 // each takes several times the processor time
	}
	if !given {
		// The flag is there in every test binary, and takes every number above 0.
		_ = flag.Set("test.parallel", strconv.Itoa(tests))
	}
}
