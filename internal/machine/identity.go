package machine

import (
	"fmt"
	"strconv"
)

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
