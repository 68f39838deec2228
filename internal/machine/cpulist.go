package machine

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds plausible processor numbers; Linux has at most 8192.
const maxCPU = 1 << 16

// parseCPUList parses Linux's format, such as "0-3,8", into a sorted list without duplicates,
// or nil. See https://docs.kernel.org/admin-guide/kernel-parameters.html#cpu-lists.
func parseCPUList(text string) []int {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.ParseUint(first, 10, 32)
		b, err2 := strconv.ParseUint(last, 10, 32)
		if err1 != nil || err2 != nil || b < a || b >= maxCPU || len(cpus) > maxCPU {
			return nil
		}
		for cpu := a; cpu <= b; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

func readText(fsys fs.FS, format string, args ...any) string {
	b, err := fs.ReadFile(fsys, fmt.Sprintf(format, args...))
	if err != nil || len(b) > 16<<20 {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "?"))
}

func exists(fsys fs.FS, format string, args ...any) bool {
	_, err := fs.Stat(fsys, fmt.Sprintf(format, args...))
	return err == nil
}

func readInt(fsys fs.FS, format string, args ...any) int {
	n, err := strconv.Atoi(readText(fsys, format, args...))
	if err != nil {
		return -1
	}
	return n
}

// ListCPUs formats processors as Linux does: "0-3,8". A range has at least three.
func ListCPUs(cpus []int) string {
	var parts []string
	for len(cpus) > 0 {
		n := 1
		for n < len(cpus) && cpus[n] == cpus[0]+n {
			n++
		}
		if n < 3 {
			n = 1
			parts = append(parts, strconv.Itoa(cpus[0]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", cpus[0], cpus[n-1]))
		}
		cpus = cpus[n:]
	}
	return strings.Join(parts, ",")
}
