package machine

import (
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Meter measures the current disturbance of the machine, for display. A [Watcher] records the
// disturbance of a result.
type Meter struct {
	fsys         fs.FS
	cpus         []int
	since        time.Time
	steal, total int64 // ticks at the last mark
	share        float64
}

// NewMeter returns a meter of the processors this process may use.
func NewMeter() *Meter {
	m := &Meter{fsys: hostFS(), cpus: allowedCPUs(), share: math.NaN()}
	m.mark(time.Now())
	return m
}

func (m *Meter) mark(now time.Time) {
	m.since = now
	_, m.steal, m.total = parseStat(readText(m.fsys, "proc/stat"), m.cpus)
}

// meterSpan is the averaging time of a Meter: a tick of the kernel is 10 ms, so shorter times are
// imprecise.
const meterSpan = 5 * time.Second

// Read returns the share of processor time that the host gave to other guests during the last
// seconds. Load is the number of threads that run or are ready to, averaged by the kernel over a
// minute. Values that the system does not report are NaN.
func (m *Meter) Read() (steal, load float64) { return m.read(time.Now()) }

func (m *Meter) read(now time.Time) (steal, load float64) {
	if now.Sub(m.since) >= meterSpan || math.IsNaN(m.share) {
		stolen, total := m.steal, m.total
		m.mark(now)
		if stolen >= 0 && m.steal >= stolen && m.total > total {
			m.share = float64(m.steal-stolen) / float64(m.total-total)
		}
	}
	load = math.NaN()
	if words := strings.Fields(readText(m.fsys, "proc/loadavg")); len(words) > 0 {
		if x, err := strconv.ParseFloat(words[0], 64); err == nil && x >= 0 {
			load = x
		}
	}
	return m.share, load
}
