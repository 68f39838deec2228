package machine

import (
	"runtime"
	"testing"
	"time"
)

func TestAlarm(t *testing.T) {
	a := NewAlarm()
	if a == nil {
		if runtime.GOOS == "linux" {
			t.Fatal("there is no alarm on Linux")
		}
		t.Skip("there are alarms on Linux only")
	}
	defer a.Close()
	for _, d := range []time.Duration{1, 50 * time.Microsecond, 300 * time.Microsecond, 2 * time.Millisecond} {
		for range 5 {
			begin := time.Now()
			if !a.Sleep(d) {
				t.Fatalf("it does not sleep for %v", d)
			}
			if slept := time.Since(begin); slept < d {
				t.Errorf("it slept for %v instead of %v", slept, d)
			}
		}
	}
	var none *Alarm
	if none.Sleep(time.Second) {
		t.Error("the nil alarm sleeps")
	}
	none.Close()
}
