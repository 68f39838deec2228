package lab

import (
	"bytes"
	"testing"
	"time"

	"locklab/harness/result"
	"locklab/internal/machine"
)

func twoSockets() surrounding {
	s := surrounding{
		Environment: machine.Environment{OS: "linux", Arch: "amd64", CPU: "Made-up 9000", CPUs: 8, Cores: 4, Sockets: 2,
			Clock: "RDTSC", ClockHz: 2.5e9, ClockFloor: 11.25, ClockStep: 0.4, ClockRate: "measured", ClockError: 1.5,
			Caches:  []machine.Cache{{Level: 3, Type: "unified", KiB: 2048, Line: 64, Shared: 4, Count: 2}},
			Atomics: "LOCK CMPXCHG", GOMAXPROCS: 8, Go: "go0"},
		Overhead: result.Overhead{Loop: 5, Log: 1.25, Timing: 30, Direct: 2.5, Locker: 3.5},
		Servers:  []server{{Kind: "redis"}, {Kind: "zookeeper", Reason: "no jars"}},
		Noise:    machine.Noise{Window: time.Second, CPUs: 8, Steal: 0.2, Others: -1, Pressure: 0.01, Throttled: -1, Hot: -1, Migrations: 16, Speed: 1.01},
		Warnings: []machine.Warning{{Text: "it is noisy", Remedy: "silence it", Kind: "noise"}},
	}
	for i := range 8 {
		s.Topology = append(s.Topology, machine.Place{CPU: i, Core: i % 4, Thread: i / 4, Cache: i % 2, Node: i % 2, Package: i % 2})
	}
	return s
}

func TestPrintEnv(t *testing.T) {
	var out bytes.Buffer
	requireNoError(t, twoSockets().print(&out))
	const want = `Made-up 9000 · 8 CPUs (4 cores, 2 sockets) · linux amd64 · go0
clock    reads                                          RDTSC, 2500 MHz
atomics  compare-and-swap                               LOCK CMPXCHG
caches   L3 unified                                     2 of 2048 KiB, lines of 64 B, 4 CPUs share one
CPUs     order of workers                               0-7
         SMT siblings                                   0,4 | 1,5 | 2,6 | 3,7
         same last-level cache                          0,2,4,6 | 1,3,5,7
the lab  acquisition of a local lock                    5.0 ns; 1.2 ns more if it is kept in the owner log, 30 ns more if it is timed
         acquisition called directly                    2.5 ns; 3.5 ns through sync.Locker, as measured ones are called
servers  redis                                          available
         zookeeper                                      missing: no jars
fitness  ok processors                                  8 CPUs
         ok CPU limit of the container                  none
         ?  frequency governor                          the system does not report it
         ?  turbo                                       the system does not report it
         !  threads that share a core (SMT)             8 CPUs on 4 cores
         ok kinds of processor                          alike
         ok virtual machine                             no
         ?  load before the start                       the system does not report it
         ok clock of the samples                        RDTSC
         ?  time-stamp counter                          the system does not report it
         ok timer floor                                 11.2 ns
         ok timer step                                  0.4 ns
         ok rate of the clock                           measurements differ by 1.5 ppm
         !  taken by the host (steal)                   20.0 %
         ?  used by other processes                     the system does not report it
         ok a thread waited for a CPU (pressure stall)  1.0 %
         ?  stopped at the CPU limit (throttling)       the system does not report it
         ?  slowed down by heat                         the system does not report it
         ok speed of a CPU after the window, of before  101.0 %
         ok lost to moves between CPUs                  0.0 %
warning (noise): it is noisy
  remedy: silence it
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestLookAround(t *testing.T) {
	s := observeMachine(10 * time.Millisecond)
	if len(s.Topology) != s.CPUs || len(s.Servers) != 2 {
		t.Errorf("%d CPUs, but %+v", s.CPUs, s)
	}
	if got, want := len(s.Warnings), len(s.Environment.Warnings())+len(machine.NoiseWarnings(s.Noise, false)); got != want {
		t.Errorf("%d warnings of %d", got, want)
	}
	if s.Noise.Window < 10*time.Millisecond {
		t.Errorf("watched for %v", s.Noise.Window)
	}
}
