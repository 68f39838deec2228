package machine

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A Cache is one kind of cache: level, type and size. Unreadable values are zero; many arm64
// machines report only which CPUs share a cache.
type Cache struct {
	Level  int    `json:"level"`            // 1 is next to the core
	Type   string `json:"type,omitempty"`   // "data", "instruction", "unified"
	KiB    int    `json:"kib,omitempty"`    // size of one cache
	Line   int    `json:"line,omitempty"`   // bytes per cache line
	Shared int    `json:"shared,omitempty"` // logical processors that share one, if known
	Count  int    `json:"count"`            // caches of this kind under the processors this process may use
}

// Name returns such as "L3 unified".
func (c Cache) Name() string {
	if c.Type == "" {
		return fmt.Sprintf("L%d", c.Level)
	}
	return fmt.Sprintf("L%d %s", c.Level, c.Type)
}

// Detail returns such as "4 of 1024 KiB, lines of 64 B, 2 CPUs share one".
func (c Cache) Detail() string {
	text := strconv.Itoa(c.Count)
	if c.KiB > 0 {
		text += fmt.Sprintf(" of %d KiB", c.KiB)
	}
	if c.Line > 0 {
		text += fmt.Sprintf(", lines of %d B", c.Line)
	}
	switch {
	case c.Shared == 1:
		text += ", one CPU each"
	case c.Shared > 1:
		text += fmt.Sprintf(", %d CPUs share one", c.Shared)
	}
	return text
}

const maxIndex = 10

// sysCache is the Linux directory of one cache of a processor. See
// Documentation/ABI/testing/sysfs-devices-system-cpu.
const sysCache = "sys/devices/system/cpu/cpu%d/cache/index%d/"

func readCacheLevel(fsys fs.FS, cpu, i int) (level int, shared []int) {
	level = readInt(fsys, sysCache+"level", cpu, i)
	if level < 1 {
		return -1, nil
	}
	shared = parseCPUList(readText(fsys, sysCache+"shared_cpu_list", cpu, i))
	if !slices.Contains(shared, cpu) {
		shared = nil
	}
	return level, shared
}

func readLastCache(fsys fs.FS, cpu int) int {
	last, highest := untold, 0
	for i := range maxIndex {
		level, shared := readCacheLevel(fsys, cpu, i)
		if level < 0 {
			break
		}
		if level > highest {
			last, highest = untold, level
			if len(shared) > 0 {
				last = shared[0]
			}
		}
	}
	return last
}

// ReadCaches returns the kinds of caches of cpus, nearest first, perhaps several at one level.
func ReadCaches(fsys fs.FS, cpus []int) []Cache {
	type instance struct{ index, first int } // the lowest processor that shares it
	seen := make(map[instance]bool)
	count := make(map[Cache]int)
	for _, cpu := range cpus {
		for i := range maxIndex {
			level, shared := readCacheLevel(fsys, cpu, i)
			if level < 0 {
				break
			}
			one := instance{i, cpu}
			if len(shared) > 0 {
				one.first = shared[0]
			}
			if seen[one] {
				continue
			}
			seen[one] = true
			count[Cache{
				Level:  level,
				Type:   strings.ToLower(readText(fsys, sysCache+"type", cpu, i)),
				KiB:    parseKiB(readText(fsys, sysCache+"size", cpu, i)),
				Line:   max(0, readInt(fsys, sysCache+"coherency_line_size", cpu, i)),
				Shared: len(shared),
			}]++
		}
	}
	caches := make([]Cache, 0, len(count))
	for c, n := range count {
		c.Count = n
		caches = append(caches, c)
	}
	slices.SortFunc(caches, func(a, b Cache) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.KiB, b.KiB), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Shared, b.Shared))
	})
	return caches
}

func parseKiB(text string) int {
	for _, unit := range []struct {
		suffix string
		kib    int
	}{{"K", 1}, {"M", 1 << 10}, {"G", 1 << 20}} {
		if digits, ok := strings.CutSuffix(text, unit.suffix); ok {
			n, err := strconv.ParseUint(digits, 10, 31)
			if err != nil || n > (1<<31-1)/uint64(unit.kib) {
				return 0
			}
			return int(n) * unit.kib
		}
	}
	return 0
}
