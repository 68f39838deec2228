package machine

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"locklab/atomics"
	"locklab/internal/numfmt"
)

// An Environment describes a machine, as needed to interpret a number measured on it. A field that
// could not be read is zero.
// It has one field for each key of the machine in manifest.json.
type Environment struct {
	Host        string  `json:"host,omitempty"` // name of the machine in its network
	OS          string  `json:"os"`
	Arch        string  `json:"arch"`
	Kernel      string  `json:"kernel,omitempty"`      // release, such as "6.18.2-generic"
	CPU         string  `json:"cpu,omitempty"`         // model name
	CPUs        int     `json:"cpus"`                  // logical processors this process may use
	Cores       int     `json:"cores,omitempty"`       // physical cores among them
	Sockets     int     `json:"sockets,omitempty"`     // packages among them
	NUMANodes   int     `json:"numa_nodes,omitempty"`  // memory nodes among them
	MemoryMiB   int     `json:"memory_mib,omitempty"`  // of the machine, regardless of container limits
	Virtual     string  `json:"virtual,omitempty"`     // hypervisor, if the machine is a guest: "KVM", "Hyper-V", "unknown hypervisor"
	Container   bool    `json:"container,omitempty"`   // inside a container
	CPULimit    float64 `json:"cpu_limit,omitempty"`   // processors the cgroup allows; 0 is no limit
	Governor    string  `json:"governor,omitempty"`    // cpufreq policy, "none" if the kernel offers none; several are joined by '+'
	Turbo       string  `json:"turbo,omitempty"`       // "on", "off"
	Capacities  string  `json:"capacities,omitempty"`  // speeds relative to the fastest processor, which is 1024, joined by '+', if they differ
	Clocksource string  `json:"clocksource,omitempty"` // clock source of the kernel: "tsc", "arch_sys_counter", "hpet"
	Clock       string  `json:"clock,omitempty"`       // clock that times the samples: "RDTSC", "CNTVCT_EL0", "monotonic"
	ClockHz     float64 `json:"clock_hz,omitempty"`
	ClockFloor  float64 `json:"clock_floor,omitempty"`     // ns: the least time between two readings
	ClockStep   float64 `json:"clock_step,omitempty"`      // ns
	ClockRate   string  `json:"clock_rate,omitempty"`      // "measured", or "stated" by the machine
	ClockError  float64 `json:"clock_error_ppm,omitempty"` // spread of the measured rates
	Atomics     string  `json:"atomics,omitempty"`         // the CAS in use: "LOCK CMPXCHG", "CASAL", "LDAXR/STLXR"
	GOMAXPROCS  int     `json:"gomaxprocs"`
	Go          string  `json:"go"` // runtime.Version

	// Unknown lists the kinds of checks without evidence. Otherwise a zero value of CPULimit,
	// Capacities or Virtual means that there is no limit, no difference or no hypervisor.
	Unknown []string `json:"unknown,omitempty"`

	Load *float64 `json:"load,omitempty"` // threads that ran or waited, on average over the last minute
	TSC  string   `json:"tsc,omitempty"`  // "constant+nonstop" is what a clock needs; "" if there is no TSC

	Caches []Cache `json:"caches,omitempty"` // of the processors this process may use, the nearest first
}

// Capture reads the environment and calibrates a clock, in 50 ms on a small machine.
func Capture() Environment {
	e := Environment{OS: runtime.GOOS, Arch: runtime.GOARCH}
	e.Host, _ = os.Hostname()
	readEnvironment(&e, hostFS(), allowedCPUs())
	c := Calibrate()
	e.Clock, e.ClockHz, e.ClockFloor, e.ClockStep = c.Name(), c.Hz(), c.Floor, c.Step
	e.ClockRate, e.ClockError = "measured", c.Error
	if c.Stated {
		e.ClockRate = "stated"
	}
	e.Atomics = atomics.CASName()
	e.GOMAXPROCS, e.Go = runtime.GOMAXPROCS(0), runtime.Version()
	return e
}

// String returns one line, such as "AMD EPYC 7B13 · 2 CPUs (1 socket) · linux 6.18 amd64 · …".
func (e Environment) String() string {
	var parts []string
	if name := shortCPU(e.CPU); name != "" {
		parts = append(parts, name)
	}
	cpus := numfmt.Plural(e.CPUs, "CPU")
	var inside []string
	if e.Cores > 0 && e.Cores != e.CPUs {
		inside = append(inside, numfmt.Plural(e.Cores, "core"))
	}
	if e.Sockets > 0 {
		inside = append(inside, numfmt.Plural(e.Sockets, "socket"))
	}
	if len(inside) > 0 {
		cpus += " (" + strings.Join(inside, ", ") + ")"
	}
	parts = append(parts, cpus)
	if e.CPULimit > 0 {
		parts = append(parts, "limit "+numfmt.Number(e.CPULimit)+" CPUs")
	}
	system := e.OS
	if v := shortKernel(e.Kernel); v != "" {
		system += " " + v
	}
	parts = append(parts, system+" "+e.Arch, e.Go)
	if e.Virtual != "" {
		parts = append(parts, e.Virtual+" guest")
	}
	if e.Container {
		parts = append(parts, "container")
	}
	return strings.Join(parts, " · ")
}

func shortCPU(model string) string {
	model, _, _ = strings.Cut(model, " @ ")
	model = strings.NewReplacer("(R)", "", "(TM)", "", "(tm)", "").Replace(model)
	noise := func(word string) bool {
		return word == "CPU" || word == "Processor" || strings.HasSuffix(word, "-Core")
	}
	return strings.Join(slices.DeleteFunc(strings.Fields(model), noise), " ")
}

func shortKernel(release string) string {
	parts := strings.SplitN(release, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// A Difference is a fact that differs between two environments.
type Difference struct{ Name, A, B string }

// String returns such as "CPUs 2 and 4".
func (d Difference) String() string { return fmt.Sprintf("%s %s and %s", d.Name, d.A, d.B) }

const hostName = "host"

// identity lists the facts of one machine: different ones are neither combined nor compared.
// Kernel, governor and Go version are conditions, which may change.
var identity = []struct {
	name string
	of   func(e Environment) string
}{
	{hostName, func(e Environment) string { return e.Host }},
	{"system", func(e Environment) string { return e.OS }},
	{"architecture", func(e Environment) string { return e.Arch }},
	{"CPU", func(e Environment) string { return e.CPU }},
	{"CPUs", func(e Environment) string { return strconv.Itoa(e.CPUs) }},
	{"hypervisor", func(e Environment) string { return e.Virtual }},
	{"CPU limit", func(e Environment) string { return limitName(e.CPULimit) }},
	{"GOMAXPROCS", func(e Environment) string { return strconv.Itoa(e.GOMAXPROCS) }},
}

// Identity returns a text that is equal only for the same machine. With anyHost it ignores the host
// name: each start of a container may have another.
func (e Environment) Identity(anyHost bool) string {
	var all []string
	for _, fact := range identity {
		if fact.name != hostName || !anyHost {
			all = append(all, fact.of(e))
		}
	}
	return fmt.Sprintf("%q", all)
}

// Unlike returns the facts by which e and f are different machines, nil if they are the same.
func (e Environment) Unlike(f Environment, anyHost bool) (out []Difference) {
	for _, fact := range identity {
		if a, b := fact.of(e), fact.of(f); a != b && (fact.name != hostName || !anyHost) {
			out = append(out, Difference{fact.name, a, b})
		}
	}
	return out
}
