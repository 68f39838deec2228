package hardware

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"locklab/harness/locktest"
	"locklab/internal/qemu"
)

func pairApart(t *testing.T) *pinnedThreads {
	t.Helper()
	if err := litmusAvailable(); err != nil {
		t.Skip(err)
	}
	return startThreads(t, apart().cpus...)
}

func startThreads(t *testing.T, cpus ...int) *pinnedThreads {
	t.Helper()
	c, err := newPinnedThreads(cpus...)
	requireNoError(t, err)
	t.Cleanup(c.close)
	return c
}

// requireOutcome plays until a certain outcome is seen, for at most a minute on a busy machine.
// An outcome that is not certain is forbidden: it must not be seen.
func requireOutcome(t *testing.T, name string, certain bool, play func() uint64) {
	t.Helper()
	if why := brokenByEmulator(name); why != "" {
		t.Logf("%s: not judged: %s", name, why)
		return
	}
	for deadline := time.Now().Add(time.Minute); certain; {
		if play() > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: never seen", name)
			return
		}
	}
	for range 30 {
		if n := play(); n != 0 {
			t.Errorf("%s: seen %d times in a step", name, n)
		}
	}
}

// brokenByEmulator returns why the emulator allows an outcome that the test or lock forbids,
// or "". qemu-user 7.2 on amd64 puts no fence between a store-release and a load-acquire.
func brokenByEmulator(name string) string {
	if translated(os.DirFS("/"), runtime.GOARCH) && (name == "store buffering, STLR and LDAR" || name == "Peterson's lock, STLR and LDAR") {
		return "an emulator runs this, and it does not keep a load-acquire behind a store-release"
	}
	return ""
}

func TestTranslated(t *testing.T) {
	for _, test := range []struct {
		goarch, kernel, cpuinfo string
		want                    bool
	}{
		{"amd64", "x86_64", "vendor_id : AuthenticAMD", false},
		{"arm64", "x86_64", "", true},
		{"arm64", "aarch64", "", false},
		{"riscv64", "aarch64", "", true},
		{"arm64", "", "vendor_id : AuthenticAMD", true},
		{"arm64", "", "CPU implementer : 0x41", false},
		{"amd64", "", "vendor_id : AuthenticAMD", false},
		{"386", "x86_64", "", false},
		{"arm64", "", "", false},
	} {
		root := fstest.MapFS{"proc/cpuinfo": mapFile(test.cpuinfo), "proc/sys/kernel/arch": mapFile(test.kernel)}
		if got := translated(root, test.goarch); got != test.want {
			t.Errorf("%+v: translated is %v", test, got)
		}
	}
}

// TestLitmus: no forbidden outcome occurs, and every certain one does.
func TestLitmus(t *testing.T) {
	c := pairApart(t)
	a := new(arena)
	for _, test := range litmusTests {
		if test.allowed && !test.certain {
			a.play(c, test)
			continue
		}
		requireOutcome(t, test.name, test.certain, func() uint64 { return a.play(c, test) })
	}
}

func TestPetersonNeedsAFence(t *testing.T) {
	c := pairApart(t)
	for _, lock := range petersonLocks {
		requireOutcome(t, lock.name, !lock.sound, func() uint64 {
			_, violated := enterPeterson(c, lock)
			return violated
		})
	}
}

// TestLitmusThreadsGiveUp checks that a thread returns if its partner does not come:
// otherwise it would stop a garbage collection for ever.
func TestLitmusThreadsGiveUp(t *testing.T) {
	for _, test := range litmusTests {
		for _, play := range test.threads {
			a := new(arena)
			next := play(&a.x[0], &a.y[0], &a.seen[0][0], &a.at[0].v, &a.at[1].v, 1, 10)
			if next != 1 || a.at[0].v != 1 {
				t.Errorf("%s: alone it came to iteration %d and stands at %d", test.name, next, a.at[0].v)
			}
			a.at[1].v = 4 // as if the partner had come to iteration 4
			if next := play(&a.x[0], &a.y[0], &a.seen[0][0], &a.at[0].v, &a.at[1].v, 1, 10); next != 5 {
				t.Errorf("%s: came to iteration %d, want 5", test.name, next)
			}
		}
	}
	for _, lock := range petersonLocks {
		var s guarded
		mine, theirs := uint64(0), uint64(1) // the other is inside
		if entered, _ := lock.run(&s, &mine, &theirs, 1, 10, 100, 0); entered != 0 || mine != 0 {
			t.Errorf("%s: entered %d times, left its flag at %d", lock.name, entered, mine)
		}
	}
}

func TestRelaxedOutcomes(t *testing.T) {
	for _, test := range []struct {
		name    string
		relaxed func(seen0, seen1 uint64) bool
		want    [2]uint64 // the only relaxed outcome
		of      [2]uint64 // the outcomes of each thread are below this
	}{
		{"neitherSaw", neitherSaw, [2]uint64{0, 0}, [2]uint64{2, 2}},
		{"bothSaw", bothSaw, [2]uint64{1, 1}, [2]uint64{2, 2}},
		{"flagWithoutData", flagWithoutData, [2]uint64{0, 1}, [2]uint64{1, 4}},
	} {
		for a := range test.of[0] {
			for b := range test.of[1] {
				if got := test.relaxed(a, b); got != (test.want == [2]uint64{a, b}) {
					t.Errorf("%s: %d and %d are relaxed: %t", test.name, a, b, got)
				}
			}
		}
	}
}

func TestLitmusAnswer(t *testing.T) {
	if len(litmusTests) == 0 {
		t.Skip(litmusAvailable())
	}
	cells := litmusCells(nil)
	for _, c := range cells {
		c.total, c.rate = 1e6, []float64{1, 2, 12}
	}
	cells[0].bad, cells[len(litmusTests)].bad, cells[2].total = 5, 7, 4000
	a, b := litmusTests[0].name+" (2 in a million iterations)", "two inside "+petersonLocks[0].name+" (2 in a million entries)"
	got := litmusAnswer(cells)
	if want := "Seen, as " + memoryModel + " allows: " + a + "; " + b + ". Never seen in 4000 iterations or more: " + litmusTests[1].name + "; "; !strings.HasPrefix(got, want) {
		t.Errorf("answer is %q, want %q", got, want)
	}
	if strings.Contains(got, "forbids") || !strings.HasSuffix(got, petersonLocks[len(petersonLocks)-1].name+".") {
		t.Errorf("answer is %q", got)
	}
	cells[1].bad = 3
	if got, want := litmusAnswer(cells), "Seen although "+memoryModel+" forbids it: "+litmusTests[1].name+" (2 in a million iterations). Seen, "; !strings.HasPrefix(got, want) {
		t.Errorf("answer is %q, want %q", got, want)
	}
}

func TestLitmusLists(t *testing.T) {
	names := make(map[string]bool)
	for i, test := range litmusTests {
		if names[test.name] || test.relaxed == nil || test.threads[0] == nil || test.threads[1] == nil {
			t.Errorf("%s: twice, or incomplete", test.name)
		}
		if test.certain && !test.allowed || (i == 0) != test.certain {
			t.Errorf("%s: allowed %v, certain %v", test.name, test.allowed, test.certain)
		}
		names[test.name] = true
	}
	for i, lock := range petersonLocks {
		if names[lock.name] || lock.sound != (i > 0) {
			t.Errorf("%s: twice, or sound is %v", lock.name, lock.sound)
		}
		names[lock.name] = true
	}
}

// TestUnderQEMU runs the assembly for other architectures on emulated CPUs. It shows that
// instructions are encoded and count as meant, and nothing about weak order on a strongly
// ordered host.
func TestUnderQEMU(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if locktest.RaceDetector {
		t.Skip("the program for the emulated CPU is the same without the race detector")
	}
	for _, target := range []struct {
		goarch, qemu string
		cpus         []string
		casal        bool // only the last of cpus has it
	}{
		{"arm64", "aarch64", []string{"cortex-a57", "neoverse-n1"}, true},
		{"riscv64", "riscv64", []string{"rv64"}, false},
	} {
		t.Run(target.goarch, func(t *testing.T) {
			emulator := qemu.Find(t, target.qemu)
			binary := qemu.TestBinary(t, target.goarch)
			for i, cpu := range target.cpus {
				t.Run(cpu, func(t *testing.T) {
					cmd := exec.CommandContext(t.Context(), emulator, "-cpu", cpu, binary, "-test.v",
						"-test.run=^Test(Bodies|Litmus|LitmusThreadsGiveUp|PetersonNeedsAFence|OneInstructionLosesNothingOnOneCPU|OnlyAtomicBodiesPassOnTwoCPUs|HeldLockIsGivenUp|LockAlone|Waits|WaitsSeeAStore)$")
					cmd.Env = append(cmd.Environ(), emulatedVariable+"=1")
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					for _, want := range []string{"--- PASS: TestBodies", "--- PASS: TestLitmusThreadsGiveUp", "--- PASS: TestLockAlone", "\nPASS\n"} {
						if !strings.Contains(string(out), want) {
							t.Errorf("no %q in the output:\n%s", want, out)
						}
					}
					if wfe := strings.Contains(string(out), "--- PASS: TestWaitsSeeAStore/LDAXR,_WFE"); wfe != (target.goarch == "arm64") {
						t.Errorf("WFE ran is %v:\n%s", wfe, out)
					}
					if casal := strings.Contains(string(out), "bodies: load, compare, store, LDAXR/STLXR, CASAL"); casal != (target.casal && i == len(target.cpus)-1) {
						t.Errorf("CASAL ran is %v:\n%s", casal, out)
					}
				})
			}
		})
	}
}

func TestBodies(t *testing.T) {
	var names []string
	for _, b := range casBodies {
		if b.name == "" || slices.Contains(names, b.name) {
			t.Errorf("two bodies are called %q", b.name)
		}
		names = append(names, b.name)
	}
	if casBodies[0].atomic || !casBodies[len(casBodies)-1].atomic {
		t.Error("the bodies do not go from no help of the hardware to all of it")
	}
	t.Log("bodies: " + strings.Join(names, ", "))
}
