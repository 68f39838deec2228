package machine

import (
	"io/fs"
	"math"
	"time"
)

// A Meter measures the current disturbance for display; a [Watcher] records a result's.
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

// meterSpan is the averaging time, far above the kernel's tick of 10 ms.
const meterSpan = 5 * time.Second

// Read returns the share of time that the host gave to others in the last seconds, and the
// threads that run or want to, averaged over a minute. Unknown values are NaN.
func (m *Meter) Read() (steal, load float64) { return m.read(time.Now()) }

func (m *Meter) read(now time.Time) (steal, load float64) {
	if now.Sub(m.since) >= meterSpan || math.IsNaN(m.share) {
		stolen, total := m.steal, m.total
		m.mark(now)
		if stolen >= 0 && m.steal >= stolen && m.total > total {
			m.share = float64(m.steal-stolen) / float64(m.total-total)
		}
	}
	if l := readLoad(m.fsys); l != nil {
		return m.share, *l
	}
	return m.share, math.NaN()
}
