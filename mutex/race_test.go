//go:build race && !systematic

package mutex

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestRaceDetector: the race detector reports what it reports under the locks of package sync.
func TestRaceDetector(t *testing.T) {
	var m Mutex
	x := 0
	inc := func() { x++ }
	under := func(lock, f, unlock func()) func() { return func() { lock(); f(); unlock() } }
	requireRace(t, "Mutex", under(m.Lock, inc, m.Unlock), under(m.Lock, inc, m.Unlock), false)
	requireRace(t, "after Mutex", under(m.Lock, m.Unlock, inc), under(m.Lock, m.Unlock, inc), true)
	for name, l := range map[string]*RWMutex{"word": new(RWMutex), "slots": spreadRW(4)} {
		read, write := under(l.RLock, inc, l.RUnlock), under(l.Lock, inc, l.Unlock)
		try := under(func() { l.TryRLock() }, inc, l.RUnlock)
		requireRace(t, name+": readers", read, read, true)
		requireRace(t, name+": read, try", read, try, true)
		requireRace(t, name+": try, read", try, read, true)
		requireRace(t, name+": read, write", read, write, false)
		requireRace(t, name+": write, read", write, read, false)
		requireRace(t, name+": write, try", write, try, false)
	}
}

// requireRace calls first and second, one after the other in two goroutines, in a child process.
// The race detector does not see their order.
func requireRace(t *testing.T, name string, first, second func(), want bool) {
	const child = "MUTEX_RACE_CHILD"
	switch os.Getenv(child) {
	case "":
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRaceDetector$")
		cmd.Env = append(os.Environ(), child+"="+name, "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if got := bytes.Contains(out, []byte("WARNING: DATA RACE")); got != want || !want && err != nil {
			t.Errorf("%s: a race is reported: %t, want %t; %v\n%s", name, got, want, err, out)
		}
	case name:
		var done atomic.Bool
		go func() {
			first()
			quietly(func() bool { done.Store(true); return true })
		}()
		quietly(done.Load)
		second()
	}
}

func quietly(done func() bool) {
	runtime.RaceDisable()
	defer runtime.RaceEnable()
	for !done() {
		runtime.Gosched()
	}
}
