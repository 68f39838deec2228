package machine

import (
	"cmp"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Noise has the disturbances of the machine during a window. Shares are from 0 to 1 of
// all the time of the processors that the process may use; Pressure is a share of the
// window. A value that the system does not report is -1, and 0 for Speed.
type Noise struct {
	Window     time.Duration `json:"window"`              // ns
	CPUs       int           `json:"cpus"`                // that the process may use, at the start or the end, whichever is less
	Limit      float64       `json:"cpu_limit,omitempty"` // processors that the control groups allow, likewise; 0 is no limit
	Governor   string        `json:"governor,omitempty"`  // frequency policy, of both ends if they differ
	Turbo      string        `json:"turbo,omitempty"`     // likewise
	Busy       int           `json:"busy,omitempty"`      // of these, usable by the workers at a time; 0 is all
	Steal      float64       `json:"steal"`               // share that the host gave to other guests
	Others     float64       `json:"others"`              // share that other processes used
	Pressure   float64       `json:"pressure"`            // share in which some thread waited for a processor
	Throttled  int64         `json:"throttled"`           // times that a control group was stopped at its CPU limit
	Hot        int64         `json:"hot"`                 // times that a processor slowed down because of heat
	Migrations int64         `json:"migrations"`          // times that a thread of this process moved to another processor
	Speed      float64       `json:"speed"`               // of a processor after the window, over that before
}

// A Watcher records the disturbances between [Watch] and Stop, and runs nothing in between.
// Each end takes 0.3 ms on a small machine.
type Watcher struct {
	cpus   []int
	were   Conditions
	before observation
}

// Watch starts watching the processors this process may use.
func Watch() *Watcher {
	return watch(hostFS(), allowedCPUs())
}

func watch(fsys fs.FS, cpus []int) *Watcher {
	return &Watcher{cpus, readConditions(fsys, cpus), observe(fsys, cpus)}
}

// Stop returns the disturbances since Watch. See [NoiseWarnings].
func (w *Watcher) Stop() Noise {
	return w.stop(hostFS(), allowedCPUs())
}

func (w *Watcher) stop(fsys fs.FS, cpus []int) Noise {
	n := noise(w.before, observe(fsys, w.cpus))
	common := slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return !slices.Contains(w.cpus, cpu) })
	c := w.were.worst(readConditions(fsys, common))
	n.CPUs, n.Limit, n.Governor, n.Turbo = c.CPUs, c.Limit, c.Governor, c.Turbo
	return n
}

// An observation is the counters at one moment; an unreadable one is -1.
type observation struct {
	at       time.Time
	speed    float64       // iterations of Do in one ns
	own      time.Duration // CPU time of this process
	busy     int64         // ticks that this process's processors spent on any process
	steal    int64         // ticks that the host gave to other guests
	total    int64         // all ticks
	pressure int64         // µs in which a task waited for a processor
	throttle int64         // times a control group was stopped at its CPU limit
	hot      int64         // times a processor slowed down because of heat
	moved    int64         // times a thread of this process changed processors
}

func observe(fsys fs.FS, cpus []int) observation {
	o := observation{speed: speed(), own: ProcessUsage().CPU()}
	o.busy, o.steal, o.total = parseStat(readText(fsys, "proc/stat"), cpus)
	// The first line has the time, in µs, in which some task waited. See
	// https://docs.kernel.org/accounting/psi.html.
	o.pressure = valueAfter("total=", readText(fsys, "proc/pressure/cpu"))
	o.throttle = readThrottle(fsys)
	o.hot = readHeat(fsys, cpus)
	o.moved = readMigrations(fsys)
	o.at = time.Now()
	return o
}

func noise(a, b observation) Noise {
	n := Noise{Window: b.at.Sub(a.at), Steal: -1, Others: -1, Pressure: -1,
		Throttled: since(a.throttle, b.throttle), Hot: since(a.hot, b.hot), Migrations: since(a.moved, b.moved)}
	if total := since(a.total, b.total); total > 0 {
		n.Steal, n.Others = 0, othersShare(a, b, float64(total))
		// One tick, 10 ms, is too coarse for a short window.
		if steal := since(a.steal, b.steal); steal > 1 {
			n.Steal = float64(steal) / float64(total)
		}
	}
	if waited := since(a.pressure, b.pressure); waited >= 0 && n.Window > 0 {
		n.Pressure = min(1, float64(waited)/float64(n.Window.Microseconds()+1))
	}
	if a.speed > 0 && b.speed > 0 {
		n.Speed = b.speed / a.speed
	}
	return n
}

func since(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return max(0, b-a)
}

func othersShare(a, b observation, total float64) float64 {
	const tick = 10 * time.Millisecond // USER_HZ is 100 wherever Go runs on Linux
	if a.busy < 0 || b.busy < 0 {
		return -1
	}
	own := float64(b.own-a.own) / float64(tick)
	// The start and the end of the window each fall inside a tick.
	others := float64(b.busy-a.busy) - own - 2
	return max(0, others/total)
}

// speed returns the processor's current speed, the best of a few tries.
func speed() float64 {
	const iterations, tries = 5_000, 8
	best := time.Duration(math.MaxInt64)
	for range tries {
		start := time.Now()
		Do(iterations)
		best = min(best, time.Since(start))
	}
	if best <= 0 {
		return 0 // the clock is too coarse
	}
	return iterations / float64(best)
}

// parseStat parses /proc/stat. It returns for cpus the ticks spent on processes, stolen by the
// host, and in all; -1 each if no cpu is listed. See proc_stat(5).
func parseStat(text string, cpus []int) (busy, steal, total int64) {
	wanted := make(map[string]bool, len(cpus))
	for _, cpu := range cpus {
		wanted["cpu"+strconv.Itoa(cpu)] = true
	}
	found := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		// user nice system idle iowait irq softirq steal; guest time is part of user.
		const system, idle, iowait, stolen = 2, 3, 4, 7
		if len(fields) < 2+stolen || !wanted[fields[0]] {
			continue
		}
		found = true
		for i, field := range fields[1 : 2+stolen] {
			n := parseCount(field)
			if n < 0 {
				return -1, -1, -1
			}
			total += n
			switch {
			case i <= system:
				busy += n
			case i == stolen:
				steal += n
			}
		}
	}
	if !found {
		return -1, -1, -1
	}
	return busy, steal, total
}

// valueAfter returns the number that follows name in a file of the kernel, or -1. A name that
// begins with a line feed is at the start of a line.
func valueAfter(name, text string) int64 {
	_, rest, _ := strings.Cut("\n"+text, name)
	fields := strings.Fields(strings.TrimLeft(rest, " :\t"))
	if len(fields) == 0 {
		return -1
	}
	return parseCount(fields[0])
}

// readThrottle returns -1 without a limit.
func readThrottle(fsys fs.FS) int64 {
	sum := int64(-1)
	for _, dir := range cgroupDirs(fsys) {
		sum = add(sum, valueAfter("\nnr_throttled ", readText(fsys, "%s/cpu.stat", dir)))
	}
	return sum
}

// readHeat returns how often the cores of cpus slowed down because of heat, or -1 unless every core
// has a count. Sibling threads count the same events.
func readHeat(fsys fs.FS, cpus []int) int64 {
	sum := int64(-1)
	for _, cpu := range cpus {
		n := readText(fsys, "sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu)
		if n == "" {
			return -1
		}
		sum = add(sum, parseCount(n))
	}
	return sum
}

// readMigrations returns how often the threads of this process have changed processors, or -1 if
// the kernel was built without CONFIG_SCHED_DEBUG. Ended threads are not counted.
func readMigrations(fsys fs.FS) int64 {
	threads, err := fs.ReadDir(fsys, "proc/self/task")
	if err != nil {
		return -1
	}
	sum := int64(-1)
	for _, thread := range threads {
		sum = add(sum, valueAfter("\nse.nr_migrations ", readText(fsys, "proc/self/task/%s/sched", thread.Name())))
	}
	return sum
}

// readLoad returns the number of threads that ran or waited for a processor, averaged over about
// the last minute; nil if the kernel does not report it. See proc_loadavg(5).
func readLoad(fsys fs.FS) *float64 {
	first, _, _ := strings.Cut(readText(fsys, "proc/loadavg"), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || !(load >= 0 && load < 1e6) {
		return nil
	}
	return &load
}

// readTSC returns the properties of the time-stamp counter, joined by '+': "constant" if its
// rate ignores the frequency, "nonstop" if it runs in sleep, "variable" without either, ""
// without a counter.
func readTSC(info map[string]string) string {
	flags := strings.Fields(info["flags"])
	if !slices.Contains(flags, "tsc") {
		return ""
	}
	all := slices.DeleteFunc([]string{"constant", "nonstop"}, func(name string) bool { return !slices.Contains(flags, name+"_tsc") })
	return cmp.Or(strings.Join(all, "+"), "variable")
}

func parseCount(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>20 {
		return -1
	}
	return n
}

func add(a, b int64) int64 {
	if a < 0 || b < 0 {
		return max(a, b)
	}
	return a + b
}
