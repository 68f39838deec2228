package locktest

import (
	"flag"
	"strconv"
)

// Parallel sets the number of concurrent tests, halved under the race detector, unless the
// flag -test.parallel is given. A package whose tests mostly wait for servers calls it in
// TestMain. Parallel parses the flags.
func Parallel(tests int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if raceDetector {
		tests = (tests + 1) / 2 // each takes several times the processor time
	}
	if !given {
		// Every test binary has the flag, which accepts every number above 0.
		_ = flag.Set("test.parallel", strconv.Itoa(tests))
	}
}
