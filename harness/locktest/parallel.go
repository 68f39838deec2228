package locktest

import (
	"flag"
	"strconv"
)

// Parallel sets the number of concurrent tests that call t.Parallel, unless the flag
// -test.parallel is given. A package calls it in TestMain if its tests mostly wait for
// servers and timeouts: the default, one per processor, is for tests that compute. Under
// the race detector the number is halved. Parallel parses the flags.
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
